"""Replays: as recorded, after a difference, after a crash, and the guard."""
