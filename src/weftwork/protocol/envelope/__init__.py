"""AI envelopes: what models say in typed documents, and the gate that judges each of them (RFC 0021)."""
