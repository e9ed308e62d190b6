"""Proofs of what the bench makes of its samples, and that it runs."""
