"""Tests of weftwork.protocol.media."""
