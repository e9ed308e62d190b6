"""Tests of weftwork.engine.media."""
