"""Tests of weftwork.adapters.nodes."""
