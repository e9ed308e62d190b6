"""Copies the readable rows of a damaged database file to a new one.

Rows are read in the order of their tables, without indexes, which may be damaged as well. At a damaged page, the scan
continues at the first row behind it, and reads the rows between backwards up to the damage. Rows that cannot be decoded
or that violate the schema are left out. Tables without row numbers are read from both ends up to the damage.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec

from weftwork.adapters.sqlite.database.connection import load_migrations, migrate, open_reader

_DAMAGE: Final = (apsw.CorruptError, apsw.NotADBError, apsw.IOError)
_FIRST: Final = -(2**63)
_LAST: Final = 2**63 - 1


class SalvagedTable(msgspec.Struct, frozen=True, rename="camel"):
    """The number of rows that were copied, and whether these are all rows."""

    name: str
    rows: int
    is_complete: bool


def salvage(damaged: Path, target: Path) -> list[SalvagedTable]:
    """Copy what can be read. Raises FileExistsError for an existing target, and errors of apsw if the file cannot be
    opened or its schema cannot be read. No other process may use the damaged file."""
    source: Any = open_reader(damaged, None)
    try:
        target.touch(mode=0o600, exist_ok=False)
        try:
            return _copy(source, target)
        except BaseException:
            target.unlink()
            raise
    finally:
        source.close(True)


def _copy(source: Any, target: Path) -> list[SalvagedTable]:
    copy: Any = apsw.Connection(str(target))
    try:
        version = int(source.pragma("user_version"))
        migrate(copy, [each for each in load_migrations() if each.number <= version])
        # The rows that triggers would write are copied as well.
        copy.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        tables = source.execute("PRAGMA table_list").fetchall()
        names = [(row[1], bool(row[4])) for row in tables if row[2] == "table" and not row[1].startswith("sqlite_")]
        return [_copy_table(source, copy, name, without_rowid) for name, without_rowid in sorted(names)]
    finally:
        copy.close(True)


def _copy_table(source: Any, copy: Any, name: str, without_rowid: bool) -> SalvagedTable:
    columns = [row[1] for row in source.execute(f'PRAGMA table_info("{name}")')]
    values = ", ".join("?" * len(columns))
    statement = f'INSERT OR REPLACE INTO "{name}" ({", ".join(columns)}) VALUES ({values})'  # noqa: S608
    scan = _Scan(source, name)
    keys = [row[1] for row in sorted(source.execute(f'PRAGMA table_info("{name}")'), key=lambda row: row[5]) if row[5]]
    rows = scan.from_both_ends(keys) if without_rowid else scan.by_number()
    refused = 0
    copy.execute("BEGIN")
    copy.execute(f'DELETE FROM "{name}"')  # noqa: S608
    for row in rows:
        try:
            copy.execute(statement, row)
        except apsw.ConstraintError:
            refused += 1
    count = int(copy.execute(f'SELECT count(*) FROM "{name}"').fetchall()[0][0])  # noqa: S608
    copy.execute("COMMIT")
    return SalvagedTable(name, count, scan.is_complete and not refused)


class _Scan:
    """Reads the rows of one table. `is_complete` is false as soon as a row was skipped."""

    def __init__(self, source: Any, name: str) -> None:
        self._source = source
        self._table = f'"{name}" NOT INDEXED'
        self.is_complete = True

    def by_number(self) -> Iterator[tuple[Any, ...]]:
        """The rows of a table with row numbers."""
        after = _FIRST
        while True:
            try:
                for number, *row in self._between(after, _LAST, "ASC"):
                    after = number
                    yield tuple(row)
                return
            except UnicodeDecodeError:
                self.is_complete = False
                found = self._next_number(after)
                if found is None:
                    return
                after = found
            except _DAMAGE:
                self.is_complete = False
                beyond = self._number_beyond(after)
                yield from self._backwards(after, _LAST if beyond is None else beyond)
                if beyond is None:
                    return
                after = beyond - 1

    def from_both_ends(self, keys: list[str]) -> Iterator[tuple[Any, ...]]:
        """The rows of a table without row numbers."""
        for direction in ("ASC", "DESC"):
            order = ", ".join(f"{key} {direction}" for key in keys)
            try:
                yield from self._source.execute(f"SELECT * FROM {self._table} ORDER BY {order}")  # noqa: S608
                return
            except (UnicodeDecodeError, *_DAMAGE):
                self.is_complete = False

    def _between(self, after: int, before: int, order: str) -> Any:
        query = f"SELECT rowid, * FROM {self._table} WHERE rowid > ? AND rowid < ? ORDER BY rowid {order}"  # noqa: S608
        return self._source.execute(query, (after, before))

    def _backwards(self, after: int, before: int) -> Iterator[tuple[Any, ...]]:
        try:
            for _, *row in self._between(after, before, "DESC"):
                yield tuple(row)
        except (UnicodeDecodeError, *_DAMAGE):
            return

    def _next_number(self, after: int) -> int | None:
        query = f"SELECT rowid FROM {self._table} WHERE rowid > ? ORDER BY rowid LIMIT 1"  # noqa: S608
        rows = self._source.execute(query, (after,)).fetchall()
        return rows[0][0] if rows else None

    def _number_beyond(self, after: int) -> int | None:
        """The number of a readable row behind the damage that follows a row; None if none was found."""
        step = 1
        start = max(after, 0)
        while start + step < _LAST:
            try:
                return self._next_number(start + step)
            except _DAMAGE:
                step *= 2
        return None
