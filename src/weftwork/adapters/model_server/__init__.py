"""A model on this machine: its weights, and a server process that answers for it."""
