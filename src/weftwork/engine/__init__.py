"""What happens next: the engine knows ports and protocol, never a driver, a path or a header."""
