"""Tests of weftwork.adapters.nodes.people."""
