"""Tests of weftwork.adapters.python.declaration."""
