"""Tests of weftwork.protocol.review."""
