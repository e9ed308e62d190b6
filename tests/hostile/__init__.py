"""What strangers can send, and how little it does."""
