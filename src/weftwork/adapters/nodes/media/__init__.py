"""Node types that emit media."""
