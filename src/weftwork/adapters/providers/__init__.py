"""Model providers: the scripted provider, and the mock providers for test keys."""
