"""Seeded random schedules on the engine."""
