"""Delivers committed events and notifications to streams."""
