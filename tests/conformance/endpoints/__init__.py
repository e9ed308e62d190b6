"""Tests of weftwork.conformance.endpoints."""
