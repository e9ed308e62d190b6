"""Rules of replays: what of a log is repeated, what is taken over, and when an event counts as the same."""
