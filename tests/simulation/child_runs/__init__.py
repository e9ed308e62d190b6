"""Random schedules of parent and child runs."""
