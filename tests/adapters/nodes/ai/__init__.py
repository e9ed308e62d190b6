"""Tests of weftwork.adapters.nodes.ai."""
