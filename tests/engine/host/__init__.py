"""Tests of weftwork.engine.host."""
