"""Proofs that a host loses nothing and does nothing twice, however it dies."""
