"""The fold: a run's header and event log in, its state out."""
