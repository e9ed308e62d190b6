"""Execution of replays: repeats the log of another run, and compares what is decided and produced again."""
