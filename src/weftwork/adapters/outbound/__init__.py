"""Outbound requests: the client, its address guard and its resolver."""
