"""Tests of weftwork.adapters.nodes.data."""
