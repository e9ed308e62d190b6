"""Every storage port in memory, for tests and demos."""
