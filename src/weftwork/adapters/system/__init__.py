"""The operating system: clock, random ids, lock file, file limit and fault actions."""
