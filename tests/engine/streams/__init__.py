"""Tests of weftwork.engine.streams."""
