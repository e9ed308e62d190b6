"""Proofs of the protocol ring."""
