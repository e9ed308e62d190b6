"""Checks of the definitions port."""

from typing import Final

from weftwork.testing.storage.store import Check, Store


async def a_definition_is_kept(store: Store) -> None:
    """`get` gives the bytes that were put under that digest, and None for any other."""
    assert await store.definitions.get("d1") is None
    await store.definitions.put("d1", b'{"id": "first"}')
    await store.definitions.put("d2", b"\x00" * 100_000)
    assert await store.definitions.get("d1") == b'{"id": "first"}'
    assert await store.definitions.get("d2") == b"\x00" * 100_000
    assert await store.definitions.get("d3") is None


async def a_definition_never_changes(store: Store) -> None:
    """Putting a digest again changes nothing."""
    await store.definitions.put("d1", b"first")
    await store.definitions.put("d1", b"second")
    assert await store.definitions.get("d1") == b"first"


CHECKS: Final[tuple[Check, ...]] = (a_definition_is_kept, a_definition_never_changes)
