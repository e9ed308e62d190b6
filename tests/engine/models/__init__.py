"""Tests of weftwork.engine.models."""
