"""The administration socket: server and client."""
