"""Tests of weftwork.protocol.envelopes.text."""
