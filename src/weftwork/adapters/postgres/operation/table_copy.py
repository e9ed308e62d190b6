"""Writes a schema as the target of a copy of a whole store (`ports/store_copy.py`).

A table is one transaction: its rows are copied, read back and compared, and the table is recorded as copied. Hosts
refuse the schema until the copy is finished: `check_copy`.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Final

import msgspec

from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import (
    REFUSED_ROW,
    PostgresConnection,
    connect,
    disconnect,
    translate,
)
from weftwork.adapters.postgres.database.lost_sessions import LostSessions
from weftwork.adapters.postgres.database.migrations import load_migrations, migrate
from weftwork.adapters.postgres.database.pool import SessionPool
from weftwork.adapters.postgres.processes.election import PostgresElection
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.ports.store_copy import (
    TABLES,
    CopiedTable,
    Digester,
    Row,
    TableDigest,
    UncopiedTable,
)
from weftwork.protocol.errors import HostFault
from weftwork.protocol.timestamps import iso

_READ_AHEAD: Final = 100
"""Rows that are read back at a time. A row may be large."""
_YIELD_ROWS: Final = 256
"""Rows after which other tasks run, such as the one that keeps the election."""
_REFERRING: Final = {"assets": "asset_refs"}
"""Tables with a foreign key to the rows of another one."""
_FIND_STATE: Final = "SELECT value FROM meta WHERE name = 'copy'"
_PUT_STATE: Final = """
    INSERT INTO meta (name, value) VALUES ('copy', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
_SALT: Final = "SELECT value FROM meta WHERE name = 'salt'"
_DELETE_SALT: Final = "DELETE FROM meta WHERE name = 'salt'"
_INSERT_SALT: Final = "INSERT INTO meta (name, value) VALUES ('salt', $1)"
_CONTINUE_RUNS: Final = """
    SELECT setval('run_numbers', greatest(1, numbers.last), numbers.last > 0) FROM (
      SELECT greatest(
        (SELECT coalesce(max(run_no), 0) FROM runs), (SELECT coalesce(max(run_no), 0) FROM deleted_runs)
      ) AS last
    ) numbers
"""
_CONTINUE: Final = """
    SELECT setval(pg_get_serial_sequence('{table}', '{column}'), greatest(1, last), last > 0)
    FROM (SELECT coalesce(max({column}), 0) AS last FROM {table}) numbers
"""


class CopyState(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the schema records of a copy. `finished_at` is in milliseconds since 1970; 0 while it is unfinished."""

    source: str
    tables: dict[str, TableDigest] = {}
    finished_at: int = 0


async def read_copy_state(connection: PostgresConnection) -> CopyState | None:
    """The copy by which the schema was filled; None if there was none."""
    stored = await connection.fetchval(_FIND_STATE)
    return None if stored is None else msgspec.json.decode(stored, type=CopyState)


async def check_copy(connection: PostgresConnection) -> None:
    """Raise HostFault if the schema is an unfinished copy, which lacks data."""
    state = await read_copy_state(connection)
    if state is not None and not state.finished_at:
        raise HostFault(
            "the schema is an unfinished copy of another store; finish it with the same `weftwork store copy` command"
        )


class PostgresCopyTarget:
    """A schema that no host can use until `close`: the election is taken meanwhile."""

    def __init__(self, address: StoreAddress) -> None:
        self._address = address
        self._pool = SessionPool(address, LostSessions(), 1)
        self._election = PostgresElection(self._pool, address)
        self._connection: Any = None
        self._state = CopyState("")

    async def begin(self, source: str) -> None:
        """Creates or migrates the schema first. Also raises HostLocked if a host is using the schema."""
        await migrate(self._address, load_migrations())
        await self._pool.open()
        await self._election.take()
        no_limit = {"statement_timeout": "0", "idle_in_transaction_session_timeout": "0"}
        self._connection = await connect(self._address, **no_limit, application_name="weftwork copy")
        try:
            state = await read_copy_state(self._connection)
            if state is not None and state.finished_at:
                raise HostFault(f"the schema is already the result of a copy, of {iso(state.finished_at)}; {_ADVICE}")
            if state is not None and state.source != source:
                raise HostFault(f"the schema is an unfinished copy of another store; {_ADVICE}")
            if state is None:
                await self._require_empty()
                await self._put_state(CopyState(source))
            else:
                self._state = state
        except Exception as error:
            raise translate(error, False) from error

    async def close(self) -> None:
        if self._connection is not None:
            await disconnect(self._connection)
        await self._election.release()
        await self._pool.close()

    def copied(self, table: CopiedTable) -> TableDigest | None:
        return self._state.tables.get(table.name)

    async def write(self, table: CopiedTable, rows: Iterable[Row]) -> TableDigest:
        before = self._state
        try:
            async with self._connection.transaction():
                if (referring := _REFERRING.get(table.name)) is not None:
                    await self._connection.execute(f"DELETE FROM {referring}")
                    self._forget(referring)
                digester = Digester()
                await self._replace(table, digester.pass_through(rows))
                result = await self._read_back(table)
                if result != digester.result:
                    raise UncopiedTable(f"table {table.name}: PostgreSQL returns other rows than it was sent")
                await self._put_state(
                    msgspec.structs.replace(self._state, tables={**self._state.tables, table.name: result})
                )
        except BaseException as error:
            self._state = before
            if isinstance(error, REFUSED_ROW):
                raise UncopiedTable(f"table {table.name}: {self._address.mask(str(error))}") from None
            if isinstance(error, Exception) and not isinstance(error, (UncopiedTable, StoreUnavailable, HostFault)):
                raise translate(error, False) from error
            raise
        return result

    async def finish(self) -> None:
        try:
            async with self._connection.transaction():
                await self._connection.execute(_CONTINUE_RUNS)
                for table in TABLES:
                    if table.number:
                        await self._connection.execute(_CONTINUE.format(table=table.name, column=table.number))
                now = int(time.time() * 1000)
                await self._put_state(msgspec.structs.replace(self._state, finished_at=now))
            # The planner of the server knows nothing about the new rows yet.
            await self._connection.execute("ANALYZE")
        except Exception as error:
            raise translate(error, False) from error

    async def _require_empty(self) -> None:
        for table in _stored_tables():
            if await self._connection.fetchval(f"SELECT EXISTS (SELECT 1 FROM {table.name})"):
                raise HostFault(f"the schema is not empty: there are rows in {table.name}; {_ADVICE}")

    async def _replace(self, table: CopiedTable, rows: Iterator[Row]) -> None:
        if table.name == "salt":
            await self._connection.execute(_DELETE_SALT)
            await self._connection.executemany(_INSERT_SALT, rows)
            return
        await self._connection.execute(f"DELETE FROM {table.name}")
        await self._connection.copy_records_to_table(
            table.name, records=_with_pauses(rows), columns=table.columns, schema_name=self._address.schema
        )

    async def _read_back(self, table: CopiedTable) -> TableDigest:
        columns = ", ".join(f'"{each}"' for each in table.columns)
        statement = _SALT if table.name == "salt" else f"SELECT {columns} FROM {table.name}"
        digester = Digester()
        async for row in self._connection.cursor(statement, prefetch=_READ_AHEAD):
            digester.add(tuple(row))
        return digester.result

    async def _put_state(self, state: CopyState) -> None:
        await self._connection.execute(_PUT_STATE, msgspec.json.encode(state))
        self._state = state

    def _forget(self, name: str) -> None:
        tables = {each: digest for each, digest in self._state.tables.items() if each != name}
        self._state = msgspec.structs.replace(self._state, tables=tables)


_ADVICE: Final = (
    "copy into an empty schema: set store_schema to another name, or drop this schema if its data are not needed"
)


def _stored_tables() -> Iterator[CopiedTable]:
    """Those that are tables here. A migrated schema has a salt before it is used."""
    return (each for each in TABLES if each.name != "salt")


async def _with_pauses(rows: Iterator[Row]) -> AsyncIterator[Row]:
    for number, row in enumerate(rows, 1):
        yield row
        if number % _YIELD_ROWS == 0:
            await asyncio.sleep(0)
