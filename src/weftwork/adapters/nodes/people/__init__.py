"""Node types that wait for people."""
