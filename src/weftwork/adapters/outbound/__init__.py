"""Outbound requests: the guarded client, its guard and its resolver."""
