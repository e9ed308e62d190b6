"""Clock, ids and lock file of the real machine."""
