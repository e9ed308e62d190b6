"""Data turned into lines for a terminal."""
