"""Tests of weftwork.adapters.nodes.conformance."""
