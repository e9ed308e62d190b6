"""Tests of weftwork.adapters.http.test_endpoints."""
