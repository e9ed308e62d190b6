"""Checks of the signing keys port."""

from typing import Final

from msgspec.structs import replace

from weftwork.ports.signing import SigningKey
from weftwork.testing.storage.sample import NOW
from weftwork.testing.storage.store import Check, Store


def signing_key(kid: str = "s1", created_at: int = NOW) -> SigningKey:
    """A key that signs."""
    return SigningKey(kid, b"\x00\xff" * 16, created_at)


async def signing_keys_are_listed_oldest_first(store: Store) -> None:
    """`all` gives every key as it was put, by the time it was made, retired ones too; its secret byte for byte."""
    assert await store.signing.all() == []
    keys = [
        signing_key("s3", 30),
        SigningKey("s1", bytes(range(256)), 10, 11),
        SigningKey("s2", b"", 20),
    ]
    for key in keys:
        await store.signing.put(key)
    assert await store.signing.all() == [keys[1], keys[2], keys[0]]


async def a_signing_key_is_replaced_by_its_kid(store: Store) -> None:
    """Putting a known kid replaces that key and no other, and does not move it."""
    for kid in ("s1", "s2"):
        await store.signing.put(signing_key(kid))
    retired = replace(signing_key(), retired_at=NOW + 1, secret=b"other")
    await store.signing.put(retired)
    assert await store.signing.all() == [retired, signing_key("s2")]


async def a_dropped_signing_key_is_gone(store: Store) -> None:
    """`drop` forgets that key and no other, and says whether there was one."""
    for kid in ("s1", "s2"):
        await store.signing.put(signing_key(kid))
    assert await store.signing.drop("s3") is False
    assert await store.signing.drop("s1") is True
    assert await store.signing.all() == [signing_key("s2")]
    assert await store.signing.drop("s1") is False
    await store.signing.put(signing_key("s1"))
    assert await store.signing.all() == [signing_key("s2"), signing_key("s1")]


CHECKS: Final[tuple[Check, ...]] = (
    signing_keys_are_listed_oldest_first,
    a_signing_key_is_replaced_by_its_kid,
    a_dropped_signing_key_is_gone,
)
