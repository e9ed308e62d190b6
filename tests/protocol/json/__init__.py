"""Tests of weftwork.protocol.json."""
