"""Node types that start and direct other runs."""
