"""The rules: what is legal on the wire and in the log. Pure: no I/O, no clock, no async."""
