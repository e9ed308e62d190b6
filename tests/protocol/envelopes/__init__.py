"""Tests of weftwork.protocol.envelopes."""
