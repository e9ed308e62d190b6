"""Tests of weftwork.adapters.sqlite."""
