"""Tests of weftwork.engine.decide."""
