"""Tests of weftwork.adapters.nodes.runs."""
