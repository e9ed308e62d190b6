"""Checks of stores that several processes may use at the same time."""
