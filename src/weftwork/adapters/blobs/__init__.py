"""Stores for the bytes of assets: in memory, in a folder, and in object storage."""
