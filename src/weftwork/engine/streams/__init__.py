"""Delivering committed events and notifications to readers."""
