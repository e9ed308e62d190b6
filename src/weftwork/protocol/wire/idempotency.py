"""Layer-1 idempotency: requests with the same Idempotency-Key have one outcome.

Sources: OpenWOP idempotency, readings (Idempotency records).
"""

import hashlib
from typing import Final

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.ids import is_idempotency_key

RETENTION_SECONDS: Final = 86_400
"""idem-01: the retention time of idempotency records. Discovery advertises it, and the sweeper deletes by it."""


def expired_before(now: int) -> int:
    """idem-01: records from before this time have expired."""
    return now - RETENTION_SECONDS * 1000


def parse_dedup(value: str | None) -> bool:
    """dedup-01 (OpenWOP rest-endpoints): whether X-Dedup is `enforce`. Raises for any other value."""
    if value not in (None, "enforce"):
        raise invalid("The header X-Dedup must have the value enforce.", parameter="X-Dedup")
    return value is not None


def check_key(key: str) -> None:
    """idem-04 (OpenWOP rest-endpoints): raises for a key outside the grammar, before any store sees it."""
    if not is_idempotency_key(key):
        raise invalid("Idempotency-Key must be 1 to 255 printable ASCII characters without spaces.")


def record_key(partition: str, operation: str, key: str) -> str:
    """idem-02 (OpenWOP idempotency): the storage key of a record. It is a hash: the caller's key is never stored or
    logged."""
    return hashlib.sha256(f"{partition}:{operation}:{key}".encode()).hexdigest()


def check_fingerprint(recorded: str, offered: str) -> None:
    """idem-03 (OpenWOP idempotency): raises if a request reuses a key with another body."""
    if recorded != offered:
        raise ClientFault(
            "idempotency_key_mismatch",
            "This Idempotency-Key was already used with another request body; send a new key.",
        )
