"""Tests of weftwork.engine.api."""
