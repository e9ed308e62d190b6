"""Tests of weftwork.adapters.nodes.flow."""
