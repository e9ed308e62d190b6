"""AI envelopes and the gate that accepts or rejects them (RFC 0021)."""
