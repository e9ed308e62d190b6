"""Checks of the ports for API keys and signing keys."""

import asyncio

from msgspec.structs import replace

from weftwork.ports.storage.api_keys import ApiKeyRow
from weftwork.ports.storage.signing_keys import SigningKey
from weftwork.testing.storage.harness import Store
from weftwork.testing.storage.samples import NOW


def key(key_id: str, created_at: int = NOW) -> ApiKeyRow:
    return ApiKeyRow(key_id, b"\x00" * 32, "acme", "live", ("runs:read", "runs:create"), "Zoë's key", created_at)


async def the_salt_is_made_once(store: Store) -> None:
    """The salt has 32 bytes and never changes, even if the first calls are concurrent."""
    salts = await asyncio.gather(*(store.keys.salt() for _ in range(8)))
    assert len(salts[0]) == 32
    assert {*salts, await store.keys.salt()} == {salts[0]}


async def keys_are_listed_oldest_first(store: Store) -> None:
    """`all` returns every key unchanged, ordered by creation time, including expired and revoked keys."""
    assert await store.keys.all() == []
    rows = [
        key("k3", 30),
        replace(key("k1", 10), mode="test", scopes=(), label="", expires_at=11),
        replace(key("k2", 20), tenant="other", revoked_at=21, digest=b"\xff" * 32),
    ]
    for row in rows:
        await store.keys.put(row)
    assert await store.keys.all() == [rows[1], rows[2], rows[0]]


async def a_key_is_replaced_by_its_id(store: Store) -> None:
    """`put` with a known key id replaces that key only, and keeps its position."""
    await store.keys.put(key("k1"))
    await store.keys.put(key("k2"))
    revoked = replace(key("k1"), revoked_at=NOW + 1, scopes=("runs:read",))
    await store.keys.put(revoked)
    assert await store.keys.all() == [revoked, key("k2")]


def signing_key(kid: str = "s1", created_at: int = NOW) -> SigningKey:
    return SigningKey(kid, b"\x00\xff" * 16, created_at)


async def signing_keys_are_listed_oldest_first(store: Store) -> None:
    """`all` returns every key unchanged, ordered by creation time, including retired keys."""
    assert await store.signing.all() == []
    keys = [signing_key("s3", 30), SigningKey("s1", bytes(range(256)), 10, 11), SigningKey("s2", b"", 20)]
    for key in keys:
        await store.signing.put(key)
    assert await store.signing.all() == [keys[1], keys[2], keys[0]]


async def a_signing_key_is_replaced_by_its_kid(store: Store) -> None:
    """`put` with a known kid replaces that key only, and keeps its position."""
    for kid in ("s1", "s2"):
        await store.signing.put(signing_key(kid))
    retired = replace(signing_key(), retired_at=NOW + 1, secret=b"other")
    await store.signing.put(retired)
    assert await store.signing.all() == [retired, signing_key("s2")]


async def a_dropped_signing_key_is_gone(store: Store) -> None:
    """`drop` deletes that key only, and returns whether it existed."""
    for kid in ("s1", "s2"):
        await store.signing.put(signing_key(kid))
    assert await store.signing.drop("s3") is False
    assert await store.signing.drop("s1") is True
    assert await store.signing.all() == [signing_key("s2")]
    assert await store.signing.drop("s1") is False
    await store.signing.put(signing_key("s1"))
    assert await store.signing.all() == [signing_key("s2"), signing_key("s1")]
