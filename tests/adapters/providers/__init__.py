"""Tests of weftwork.adapters.providers."""
