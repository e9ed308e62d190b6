"""Tests of weftwork.conformance.nodes."""
