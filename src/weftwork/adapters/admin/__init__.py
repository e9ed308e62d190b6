"""The local administration socket."""
