"""Between processes: which of them executes runs, and hints about what one of them has written."""
