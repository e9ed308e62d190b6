"""Tests of weftwork.adapters.http.page."""
