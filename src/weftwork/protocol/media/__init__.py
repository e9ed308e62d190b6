"""Media: types, references, headers, and parts of messages that are not text. Pure rules; the bytes are elsewhere."""
