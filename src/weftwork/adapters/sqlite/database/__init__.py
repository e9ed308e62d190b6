"""Connections to the database file and the threads that own them."""
