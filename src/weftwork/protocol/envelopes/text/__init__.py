"""Finding, repairing and cleaning envelopes in a model's text."""
