"""Outbound requests: which addresses, targets, methods and headers are allowed."""
