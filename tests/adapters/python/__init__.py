"""Tests of weftwork.adapters.python."""
