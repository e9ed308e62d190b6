"""Tests of weftwork.adapters."""
