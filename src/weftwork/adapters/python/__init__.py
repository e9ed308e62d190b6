"""Nodes written in Python: from a decorated function to a node type."""
