"""Tests of weftwork.protocol.run."""
