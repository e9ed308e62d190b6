"""Finding and repairing JSON in the text of a model."""
