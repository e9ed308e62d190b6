"""Node types that call a model."""
