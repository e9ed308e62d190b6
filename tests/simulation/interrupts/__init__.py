"""Random schedules of interrupts and answers."""
