"""What one call of a Python node can do through its context."""
