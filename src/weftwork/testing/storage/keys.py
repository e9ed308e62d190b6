"""Checks of the keys port."""

import asyncio
from typing import Final

import msgspec

from weftwork.ports.keys import KeyRow
from weftwork.testing.storage.sample import NOW
from weftwork.testing.storage.store import Check, Store


def key(key_id: str, created_at: int = NOW) -> KeyRow:
    """A live key of a tenant."""
    return KeyRow(key_id, b"\x00" * 32, "acme", "live", ("runs:read", "runs:create"), "Zoë's key", created_at)


async def the_salt_is_made_once(store: Store) -> None:
    """The salt is 32 bytes and the same for everybody who asks, the first ones at once included."""
    salts = await asyncio.gather(*(store.keys.salt() for _ in range(8)))
    assert len(salts[0]) == 32
    assert {*salts, await store.keys.salt()} == {salts[0]}


async def keys_are_listed_oldest_first(store: Store) -> None:
    """`all` gives every key as it was put, by the time it was made, expired and revoked ones too."""
    assert await store.keys.all() == []
    rows = [
        key("k3", 30),
        msgspec.structs.replace(key("k1", 10), mode="test", scopes=(), label="", expires_at=11),
        msgspec.structs.replace(key("k2", 20), tenant="other", revoked_at=21, digest=b"\xff" * 32),
    ]
    for row in rows:
        await store.keys.put(row)
    assert await store.keys.all() == [rows[1], rows[2], rows[0]]


async def a_key_is_replaced_by_its_id(store: Store) -> None:
    """Putting a known key id replaces that key and no other, and does not move it."""
    await store.keys.put(key("k1"))
    await store.keys.put(key("k2"))
    revoked = msgspec.structs.replace(key("k1"), revoked_at=NOW + 1, scopes=("runs:read",))
    await store.keys.put(revoked)
    assert await store.keys.all() == [revoked, key("k2")]


CHECKS: Final[tuple[Check, ...]] = (
    the_salt_is_made_once,
    keys_are_listed_oldest_first,
    a_key_is_replaced_by_its_id,
)
