"""Requests to a host, and streams of its events."""
