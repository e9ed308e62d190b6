"""The official client against a real host."""
