"""Calling a node: its context, its limits, its effects."""
