"""Handlers of the test endpoints, and what they remember. The conformance suite calls these endpoints seams."""
