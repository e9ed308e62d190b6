"""Proofs of what is made of a model's text."""
