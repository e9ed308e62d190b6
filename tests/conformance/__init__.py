"""Tests of weftwork.conformance."""
