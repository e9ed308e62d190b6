"""Checks of this machine and of a host."""
