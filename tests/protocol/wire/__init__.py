"""Tests of weftwork.protocol.wire."""
