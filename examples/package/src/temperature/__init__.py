"""An example of a package with nodes."""
