"""The rules manifest and its page."""
