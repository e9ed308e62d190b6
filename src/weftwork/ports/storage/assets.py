"""Assets at rest: which there are, which runs refer to them, and what is to be deleted.

Theory. A row says that bytes are there; a reference says that a run needs them. References are written in the commit
of the events that name the asset, and go with their run, so an asset is referred to exactly as long as a log names it.
An asset without references and holds is deleted in steps: its row is replaced by a tombstone of its key, in one
transaction; then its bytes are deleted, then the tombstone. A crash in between leaves a tombstone, never a row without
bytes.

Durable on return; raises StoreUnavailable. Each call is one transaction.
"""

from typing import Protocol

import msgspec


class AssetCursor(msgspec.Struct, frozen=True):
    """Where an asset stands among those of its partition. It is a place after the asset is gone, too."""

    created_at: int
    sha256: str


class StoredAsset(msgspec.Struct, frozen=True):
    """Bytes of a tenant. There is one row for each digest in a partition."""

    partition: str
    sha256: str
    key: str
    """Of the blob."""
    size: int
    media_type: str
    """What the bytes look like."""
    created_at: int
    held_until: int
    """Until then it stays, even if no run refers to it."""

    @property
    def cursor(self) -> AssetCursor:
        return AssetCursor(self.created_at, self.sha256)


class AssetEntry(msgspec.Struct, frozen=True):
    asset: StoredAsset
    runs: int
    """How many refer to it."""


class AssetQuery(msgspec.Struct, frozen=True):
    """Newest first. `after` is the place of the asset that the last page ended with.

    If that one is gone, the page begins with the newest of those that were created at that instant or before: whatever
    was created in the same millisecond may come twice, and nothing is left out.
    """

    run_id: str | None = None
    after: AssetCursor | None = None
    limit: int = 50


class AssetUsage(msgspec.Struct, frozen=True):
    count: int
    size: int


class QuotaReached(Exception):
    """The tenant has no room for it. Nothing was written."""

    def __init__(self, used: int, quota: int) -> None:
        super().__init__(f"{used} of {quota} bytes are used")
        self.used = used
        self.quota = quota


class AssetIndex(Protocol):
    """Implementations are proved by `weftwork.testing.storage`."""

    async def add(self, asset: StoredAsset, quota: int = 0) -> StoredAsset:
        """Write it down. If its partition has these bytes already, that row stays and is held until the later of both
        instants, and is returned: then the blob of the caller is not needed.

        Raises QuotaReached if the partition would have more bytes than `quota`, 0 being any number.
        """
        ...

    async def hold(self, partition: str, sha256: str, until: int) -> StoredAsset | None:
        """Let it stay at least until then, if it is there; None if it is not."""
        ...

    async def rekey(self, partition: str, sha256: str, key: str) -> StoredAsset | None:
        """Its bytes are under another key from now on; None if there is no such row. Whoever asks knows that there are
        none under the old one."""
        ...

    async def find(self, partition: str, sha256: str) -> AssetEntry | None:
        """`runs` is 0 or 1 here: whether any run refers to it. The cost does not depend on how many do."""
        ...

    async def page(self, partition: str, query: AssetQuery) -> list[AssetEntry]:
        """At most `limit`. The cost depends neither on how many there are nor on whether `after` is still there."""
        ...

    async def usage(self, partition: str) -> AssetUsage:
        """The cost does not depend on how many there are."""
        ...

    async def unreferenced_usage(self, now: int) -> AssetUsage:
        """Of all partitions: the rows that nobody refers to or holds. The cost is that of counting them."""
        ...

    async def tombstone_unreferenced(self, now: int, limit: int) -> AssetUsage:
        """Drop at most so many of those rows, and write their keys down; what was dropped."""
        ...

    async def tombstones(self, limit: int) -> list[str]:
        """Keys that are written down, the oldest first."""
        ...

    async def clear_tombstones(self, keys: list[str]) -> None:
        """Their bytes are gone: forget them."""
        ...

    async def known_keys(self, keys: list[str]) -> set[str]:
        """Those of these keys that a row has, or that are written down as doomed."""
        ...
