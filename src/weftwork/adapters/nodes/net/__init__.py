"""Node types that send requests."""
