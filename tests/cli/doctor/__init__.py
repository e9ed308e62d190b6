"""Tests of weftwork.cli.doctor."""
