"""Weights of known models, and the model server as a child process."""
