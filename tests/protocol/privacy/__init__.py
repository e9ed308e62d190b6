"""Tests of weftwork.protocol.privacy."""
