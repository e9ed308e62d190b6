"""Reads a database file as the source of a copy of the whole store (`ports/store_copy.py`)."""

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from weftwork.adapters.sqlite.database.connection import OUTAGES, open_reader, open_writer, outage
from weftwork.adapters.sqlite.runs import SEQUENCE_BITS
from weftwork.ports.store_copy import CopiedTable, Row
from weftwork.protocol.errors import HostFault

_NAMES: Final = {
    "deleted_blobs": "doomed_blobs",
    "children": "kinship",
    "child_results": "news",
    "cancel_requests": "orders",
}
"""The names of tables that this schema calls differently."""
_SOURCES: Final = {"salt": "(SELECT value FROM meta WHERE name = 'salt')"}
_EXPRESSIONS: Final = {
    ("events", "run_no"): f"id >> {SEQUENCE_BITS}",
    ("events", "sequence"): f"id & {(1 << SEQUENCE_BITS) - 1}",
    ("deleted_blobs", "blob_no"): "doom_no",
}
_ORDERS: Final = {"events": "id"}
"""By the primary key, which is what the columns of the key are computed from."""
_CREATE_SALT: Final = "INSERT OR IGNORE INTO meta (name, value) VALUES ('salt', randomblob(32))"
"""A store that a tool has filled may have none. The first start of a host would create it."""
_SALT: Final = "SELECT value FROM meta WHERE name = 'salt'"

_decode_texts = partial(msgspec.json.decode, type=list[str])
_CONVERSIONS: Final[dict[tuple[str, str], Callable[[Any], Any]]] = {
    ("runs", "parked"): bool,
    ("runs", "is_child"): bool,
    ("runs", "has_children"): bool,
    ("deleted_runs", "purged"): bool,
    ("children", "awaited"): bool,
    ("children", "cascades"): bool,
    ("workflows", "current"): bool,
    ("keys", "scopes"): _decode_texts,
}


class SqliteCopySource:
    """A database file that no host is using. Opening it applies the migrations of this release."""

    def __init__(self, path: Path) -> None:
        """Raises StoreUnavailable, or HostFault if a newer release wrote the file or if it is no store."""
        try:
            _require_store(path)
            # As a host does when it starts: an older schema lacks columns, and a WAL may hold the last commits.
            writer = open_writer(path, None)
            writer.execute(_CREATE_SALT)
            writer.close()
            self._connection = open_reader(path, None)
            salt = bytes(self._connection.execute(_SALT).fetchall()[0][0])
        except OUTAGES as error:
            raise outage(error) from None
        self.identity = hashlib.sha256(b"weftwork store " + salt).hexdigest()[:16]

    def count(self, table: CopiedTable) -> int:
        try:
            return self._connection.execute(f"SELECT count(*) FROM {_source(table)}").fetchall()[0][0]  # noqa: S608
        except OUTAGES as error:
            raise outage(error, table.name) from None

    def rows(self, table: CopiedTable) -> Iterator[Row]:
        columns = ", ".join(_EXPRESSIONS.get((table.name, each), f'"{each}"') for each in table.columns)
        order = _ORDERS.get(table.name) or ", ".join(map(str, range(1, table.key + 1)))
        statement = f"SELECT {columns} FROM {_source(table)} ORDER BY {order}"  # noqa: S608 - nothing but constants
        converted = [
            (number, _CONVERSIONS[table.name, each])
            for number, each in enumerate(table.columns)
            if (table.name, each) in _CONVERSIONS
        ]
        try:
            for row in self._connection.execute(statement):
                yield _convert(row, converted) if converted else row
        except (*OUTAGES, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise outage(error, table.name) from None

    def close(self) -> None:
        self._connection.close(True)


def _require_store(path: Path) -> None:
    """Raise HostFault for a database of another program, before anything is written to it."""
    connection = open_reader(path, None)
    try:
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'run_headers'").fetchall():
            raise HostFault(f"{path} is not a store of weftwork")
    finally:
        connection.close(True)


def _source(table: CopiedTable) -> str:
    return _SOURCES.get(table.name) or _NAMES.get(table.name, table.name)


def _convert(row: Row, converted: list[tuple[int, Callable[[Any], Any]]]) -> Row:
    values = list(row)
    for number, convert in converted:
        values[number] = convert(values[number])
    return tuple(values)
