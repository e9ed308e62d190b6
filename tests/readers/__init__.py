"""Readers in numbers: what they cost, and that none of them is in another's way."""
