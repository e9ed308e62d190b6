"""Surfaces: their types, their limits, and what their buttons send."""
