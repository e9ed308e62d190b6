"""Tests of weftwork.cli.serve."""
