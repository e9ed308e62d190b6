"""Tests of weftwork.protocol.models."""
