"""Tests of weftwork.cli.console."""
