"""The weftwork command."""
