"""Following a run while it is executed."""
