"""Text in and out of the terminal."""
