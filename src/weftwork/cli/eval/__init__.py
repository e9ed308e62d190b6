"""`weftwork eval`: branches recorded runs with other models or prompts, and scores the outcomes."""
