"""Node types for control flow."""
