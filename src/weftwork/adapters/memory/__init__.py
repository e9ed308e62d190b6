"""The storage ports in memory, for tests and demos."""
