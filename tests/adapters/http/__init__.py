"""Tests of weftwork.adapters.http."""
