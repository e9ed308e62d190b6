"""Tests of weftwork.engine.sdk."""
