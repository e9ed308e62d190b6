"""Tests of weftwork.protocol.people."""
