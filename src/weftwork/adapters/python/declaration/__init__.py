"""Makes the declaration of a node type from a decorated function."""
