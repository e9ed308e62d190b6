"""Built-in node types."""
