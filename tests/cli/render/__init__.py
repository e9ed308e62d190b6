"""Tests of weftwork.cli.render."""
