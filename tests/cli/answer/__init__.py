"""Tests of weftwork.cli.answer."""
