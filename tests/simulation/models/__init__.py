"""Random schedules of model calls."""
