"""Copies of a whole store to another kind of store: the tables, the form of their rows, and their digests.

Theory. Both stores read a table as rows of the same plain values: integers, booleans, texts, bytes, lists of texts and
None, in the columns that TABLES names. The digest of a table is the sum of the digests of its rows, so it does not
depend on the order in which a store reads them. A table is copied when the digest of what the target reads back equals
that of what the source has read.

What belongs to one store only is not copied: elections, the executors that have taken runs, and counters that the
store derives from its rows.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol

import msgspec

Row = tuple[Any, ...]


class CopiedTable(msgspec.Struct, frozen=True):
    """A table and its columns, which begin with the columns of its key. `number` is the column whose values the store
    assigns to new rows."""

    name: str
    columns: tuple[str, ...]
    key: int = 1
    """The number of columns of the key."""
    number: str = ""


def _table(name: str, columns: str, key: int = 1, number: str = "") -> CopiedTable:
    return CopiedTable(name, tuple(columns.split()), key, number)


TABLES: Final = (
    _table("salt", "value"),
    _table("keys", "key_no key_id digest tenant mode scopes label created_at expires_at revoked_at", number="key_no"),
    _table("signing_keys", "key_no kid secret created_at retired_at", number="key_no"),
    _table("definitions", "digest document"),
    _table(
        "workflows",
        "workflow_no tenant workflow_id version digest created_at name description current",
        number="workflow_no",
    ),
    _table("assets", "asset_no partition sha256 key size media_type created_at held_until", number="asset_no"),
    _table("asset_usage", "partition count size"),
    _table("deleted_blobs", "blob_no key", number="blob_no"),
    _table(
        "runs",
        "run_no partition run_id workflow_id scope_id status last_sequence started_at completed_at current_node "
        "executions error outputs parked wake_at is_child has_children",
    ),
    _table("run_headers", "run_no header"),
    _table("run_tags", "partition tag run_no", 3),
    _table("deleted_runs", "run_no partition run_id deleted_at purged"),
    _table(
        "events",
        "run_no sequence event_id type timestamp payload node_id causation_id schema_version engine_version "
        "interrupt_id content_trust",
        2,
    ),
    _table("run_state", "run_no kind name value", 3),
    _table("hidden", "run_no sequence hidden_no pointer value", 3, "hidden_no"),
    _table("idempotency", "partition slot fingerprint outcome created_at", 2),
    _table("open_interrupts", "run_no interrupt_id partition run_id workflow_id kind node_id requested_at due", 2),
    _table("children", "run_no parent_no partition root awaited cascades"),
    _table("child_results", "run_no parent_no node_id key sequence status outcome"),
    _table("cancel_requests", "run_no parent reason"),
    _table("forks", "run_no partition source"),
    _table("annotations", "run_no annotation_no annotation_id document", 2, "annotation_no"),
    _table("asset_refs", "run_no asset_no", 2),
)
"""All tables, in an order in which references point to earlier tables."""


class TableDigest(msgspec.Struct, frozen=True):
    """The number of rows of a table, and the sum of their digests in hexadecimal digits."""

    rows: int = 0
    digest: str = "0"


class Digester:
    """Computes the digest of a table from its rows, in any order."""

    def __init__(self) -> None:
        self._rows = 0
        self._sum = 0
        self._encoder = msgspec.msgpack.Encoder()

    def add(self, row: Row) -> None:
        digest = hashlib.sha256(self._encoder.encode(row)).digest()
        self._sum = (self._sum + int.from_bytes(digest)) % 2**256
        self._rows += 1

    def pass_through(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The same rows, each of which is added first."""
        for row in rows:
            self.add(row)
            yield row

    @property
    def result(self) -> TableDigest:
        return TableDigest(self._rows, f"{self._sum:x}")


class UncopiedTable(Exception):
    """A table cannot be copied. The message names it and says why. Nothing of it was written."""


class CopySource(Protocol):
    """A store that is read. No other process uses it meanwhile."""

    identity: str
    """Identifies the store, also after it was moved or used. Not a secret."""

    def count(self, table: CopiedTable) -> int: ...

    def rows(self, table: CopiedTable) -> Iterator[Row]:
        """The rows in the order of the key. Raises StoreUnavailable."""
        ...


class CopyTarget(Protocol):
    """A store that is written. No host can use it before the copy is finished."""

    async def begin(self, source: str) -> None:
        """Begin a copy of this source, or continue an unfinished one.

        Raises HostFault if the target has data that are not those of an unfinished copy of this source, and
        StoreUnavailable.
        """
        ...

    def copied(self, table: CopiedTable) -> TableDigest | None:
        """The digest of a table that was copied completely; None for another one."""
        ...

    async def write(self, table: CopiedTable, rows: Iterable[Row]) -> TableDigest:
        """Replace the rows of a table, read them back, and return their digest. Durable on return. All or nothing:
        raises UncopiedTable if a row cannot be stored or is read back differently, and StoreUnavailable."""
        ...

    async def finish(self) -> None:
        """Let new rows continue behind the copied ones, and let hosts use the store."""
        ...
