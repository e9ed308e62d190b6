"""The storage ports on one SQLite file."""
