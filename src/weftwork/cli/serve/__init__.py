"""Starting a host in the foreground."""
