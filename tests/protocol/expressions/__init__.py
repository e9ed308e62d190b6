"""Tests of weftwork.protocol.expressions."""
