"""Secrets and trust: matching, redaction, credentials, streaming hold-back, untrusted content."""
