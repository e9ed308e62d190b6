"""Event streams over real sockets."""
