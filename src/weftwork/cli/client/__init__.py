"""Requests to a host, and its event streams."""
