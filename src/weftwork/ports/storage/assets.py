"""The index of assets: which assets exist, which runs refer to them, and which blobs are to be deleted.

Theory. A row says that the bytes of an asset exist; a reference says that a run needs them. References are written in
the commit of the events that name the asset and are deleted with their run, so an asset is referenced exactly as long
as a log names it. An asset without references and holds is deleted in steps: its row is replaced by a tombstone of its
key, in one transaction; then its bytes are deleted, then the tombstone. A crash in between leaves a tombstone, never a
row without bytes.

Durable on return; raises StoreUnavailable. Each call is one transaction.
"""

from typing import Protocol

import msgspec


class AssetCursor(msgspec.Struct, frozen=True):
    """The position of an asset in the listing of its partition. It stays valid after the asset is deleted."""

    created_at: int
    sha256: str


class StoredAsset(msgspec.Struct, frozen=True):
    """An asset of a tenant. A partition has one row for each digest."""

    partition: str
    sha256: str
    key: str
    """The key of its blob."""
    size: int
    media_type: str
    """The type that the host sniffed from the bytes."""
    created_at: int
    held_until: int
    """The asset is not deleted before this instant, even if no run refers to it."""

    @property
    def cursor(self) -> AssetCursor:
        return AssetCursor(self.created_at, self.sha256)


class AssetEntry(msgspec.Struct, frozen=True):
    asset: StoredAsset
    runs: int
    """The number of runs that refer to the asset."""


class AssetQuery(msgspec.Struct, frozen=True):
    """A listing, newest first. `after` is the cursor of the last asset of the previous page.

    If that asset has been deleted, the page starts with the newest asset that was created at that instant or before:
    assets of the same millisecond may be listed twice, and no asset is skipped.
    """

    run_id: str | None = None
    after: AssetCursor | None = None
    limit: int = 50


class AssetUsage(msgspec.Struct, frozen=True):
    count: int
    size: int


class QuotaReached(Exception):
    """The asset would exceed the quota of the tenant. Nothing was written."""

    def __init__(self, used: int, quota: int) -> None:
        super().__init__(f"{used} of {quota} bytes are used")
        self.used = used
        self.quota = quota


class AssetIndex(Protocol):
    """Implementations are proved by `weftwork.testing.storage`."""

    async def add(self, asset: StoredAsset, quota: int = 0) -> StoredAsset:
        """Insert the row and return it. If the partition already has an asset with this digest, that row is returned
        instead, held until the later of both instants; then the caller's blob is not needed.

        Raises QuotaReached if the partitions of the tenant would together exceed `quota` bytes; 0 is no limit.
        """
        ...

    async def hold(self, partition: str, sha256: str, until: int) -> StoredAsset | None:
        """Extend the hold of an asset to at least that instant; None if there is no such asset."""
        ...

    async def rekey(self, partition: str, sha256: str, key: str) -> StoredAsset | None:
        """Point the asset to another blob; None if there is no such asset. For callers that have found that the blob
        of the old key is missing."""
        ...

    async def find(self, partition: str, sha256: str) -> AssetEntry | None:
        """The asset, with `runs` 1 if any run refers to it and 0 if none does. The cost does not depend on the number
        of references."""
        ...

    async def page(self, partition: str, query: AssetQuery) -> list[AssetEntry]:
        """At most `limit` assets. The cost depends neither on the number of assets nor on whether the asset of `after`
        still exists."""
        ...

    async def usage(self, partition: str) -> AssetUsage:
        """Number and size of the partition's assets. The cost does not depend on their number."""
        ...

    async def unreferenced_usage(self, now: int) -> AssetUsage:
        """Number and size of the assets of all partitions without reference and hold. The cost grows with their
        number."""
        ...

    async def tombstone_unreferenced(self, now: int, limit: int) -> AssetUsage:
        """Replace at most `limit` of those rows with tombstones of their keys; returns number and size of these
        assets."""
        ...

    async def tombstones(self, limit: int) -> list[str]:
        """Keys of tombstones, oldest first."""
        ...

    async def clear_tombstones(self, keys: list[str]) -> None:
        """Delete these tombstones, after the bytes of their blobs were deleted."""
        ...

    async def known_keys(self, keys: list[str]) -> set[str]:
        """The subset of these keys that an asset or a tombstone has."""
        ...
