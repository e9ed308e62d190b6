"""Tests of weftwork.adapters.http.server."""
