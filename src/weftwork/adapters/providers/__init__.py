"""Model providers: the scripted one, and those that a test key can ask for."""
