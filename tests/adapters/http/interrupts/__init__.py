"""Interrupt routes over real sockets."""
