"""Tests of weftwork.protocol.fold."""
