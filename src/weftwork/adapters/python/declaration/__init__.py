"""From a decorated function to the declaration of a node type."""
