"""Tests of weftwork.cli.follow."""
