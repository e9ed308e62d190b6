"""Builds the parts of a host from its settings."""
