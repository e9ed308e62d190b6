"""The HTTP server: connections, their limits and deadlines, and shutdown."""
