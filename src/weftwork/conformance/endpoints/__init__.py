"""Handlers of the test endpoints, and their state. The conformance suite calls these endpoints seams."""
