"""Implementations of the ports: each folder wraps one technology and imports no other adapter."""
