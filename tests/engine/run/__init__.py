"""Tests of weftwork.engine.run."""
