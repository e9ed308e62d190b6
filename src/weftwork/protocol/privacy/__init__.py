"""Secrets and trust: matching, redaction, streaming hold-back, untrusted content."""
