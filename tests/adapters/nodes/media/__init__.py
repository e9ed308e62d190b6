"""Tests of weftwork.adapters.nodes.media."""
