"""Tests of weftwork.cli.commands."""
