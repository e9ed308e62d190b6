"""Asset routes over real sockets."""
