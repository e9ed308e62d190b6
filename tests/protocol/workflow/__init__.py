"""Tests of weftwork.protocol.workflow."""
