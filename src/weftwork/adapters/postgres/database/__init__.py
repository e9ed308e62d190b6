"""Connections to the server: addresses, sessions, the pool, the writer and migrations."""
