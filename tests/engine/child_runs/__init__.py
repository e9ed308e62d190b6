"""Runs that start runs."""
