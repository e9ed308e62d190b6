"""Recorded histories in tests: replays them with the code of today, and describes the first difference."""
