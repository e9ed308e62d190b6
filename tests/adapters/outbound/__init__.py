"""Tests of weftwork.adapters.outbound."""
