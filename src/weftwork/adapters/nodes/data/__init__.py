"""Node types for the data of a run."""
