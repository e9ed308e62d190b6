"""Tests of weftwork.cli.client."""
