"""The fold: computes the state of a run from its header and event log."""
