"""Layer-1 idempotency: one caller key, one outcome. Sources: OpenWOP idempotency, readings (Idempotency records)."""

import hashlib
from typing import Final

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.ids import is_idempotency_key

RETENTION_SECONDS: Final = 86_400
"""idem-01: how long a record answers for its key; the same number is advertised and swept by."""


def expired_before(now: int) -> int:
    """idem-01: records made before this instant no longer answer for their key."""
    return now - RETENTION_SECONDS * 1000


def parse_dedup(value: str | None) -> bool:
    """dedup-01 (OpenWOP rest-endpoints): the only value X-Dedup knows is `enforce`."""
    if value not in (None, "enforce"):
        raise invalid("X-Dedup takes only the value enforce.", parameter="X-Dedup")
    return value is not None


def check_key(key: str) -> None:
    """idem-04 (OpenWOP rest-endpoints): refuse keys outside the grammar before they reach a store."""
    if not is_idempotency_key(key):
        raise invalid("Idempotency-Key must be 1 to 255 printable ASCII characters without spaces.")


def record_key(partition: str, operation: str, key: str) -> str:
    """idem-02 (OpenWOP idempotency): where the record lives. The caller's key is hashed and never stored or logged."""
    return hashlib.sha256(f"{partition}:{operation}:{key}".encode()).hexdigest()


def check_fingerprint(recorded: str, offered: str) -> None:
    """idem-03 (OpenWOP idempotency): the same key with another body is a conflict, not a replay."""
    if recorded != offered:
        raise ClientFault(
            "idempotency_key_mismatch",
            "This Idempotency-Key was already used with another request body; send a new key.",
        )
