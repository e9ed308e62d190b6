"""Tests of weftwork.cli."""
