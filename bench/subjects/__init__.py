"""What is measured: the host, bare servers and peers."""
