"""Model calls of a live run: streams, the media of messages, and the envelope gate."""
