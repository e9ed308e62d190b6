"""Tests of weftwork.adapters.http.routes."""
