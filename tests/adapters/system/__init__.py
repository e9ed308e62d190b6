"""Tests of weftwork.adapters.system."""
