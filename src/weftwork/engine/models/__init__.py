"""Model calls: requests, streams, attempts, and the envelope gate on the live path."""
