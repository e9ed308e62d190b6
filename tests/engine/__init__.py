"""Proofs of the engine ring."""
