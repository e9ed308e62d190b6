"""Connections, their limits, and the HTTP server."""
