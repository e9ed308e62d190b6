"""Redaction and trust over whole runs."""
