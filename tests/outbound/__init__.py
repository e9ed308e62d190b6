"""The guarded client on real sockets."""
