"""Tests of weftwork.adapters.python.calls."""
