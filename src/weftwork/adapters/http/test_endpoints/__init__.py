"""Endpoints for the conformance suite (its word for them is "seams")."""
