"""Proofs of the built-in node types."""
