"""The ownership and election ports on one SQLite file.

The untaken runs of a host were left by a few earlier processes, so they have few different fences. An index has the
runs of each fence in the order of their creation, and a page is the merge of one short scan per fence.
"""

import asyncio
import heapq
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from weftwork.adapters.sqlite.database.connection import OUTAGES, SqliteConnection
from weftwork.adapters.sqlite.database.port import SqlitePort, reads
from weftwork.adapters.sqlite.database.reader import SqliteReaders, snapshot
from weftwork.adapters.sqlite.database.writer import SqliteWriter
from weftwork.adapters.sqlite.runs import run_number
from weftwork.adapters.sqlite.transactions import SAVE_EPOCH, RunHeadCache
from weftwork.ports.storage.ownership import UntakenRun
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey

_MAX_RUN_NO: Final = 1 << 62

NEXT_UNTAKEN_FENCE = """
    SELECT fence FROM runs WHERE completed_at IS NULL AND parked = 0 AND fence > ? AND fence < ?
    ORDER BY fence LIMIT 1
"""
UNTAKEN = """
    SELECT run_no, partition, run_id, is_child FROM runs
    WHERE completed_at IS NULL AND parked = 0 AND fence = ? AND run_no > ? AND run_no <= ? ORDER BY run_no LIMIT ?
"""
# One index has the runs of all partitions, so that writes maintain no further one. A page of one partition steps over
# the others inside SQLite (`+partition` keeps the planner from other indexes). The host reads such pages only for
# tenants with many unfinished runs.
UNTAKEN_IN_PARTITION = """
    SELECT run_no, partition, run_id, is_child FROM runs
    WHERE completed_at IS NULL AND parked = 0 AND fence = ? AND run_no > ? AND run_no <= ? AND +partition = ?
    ORDER BY run_no LIMIT ?
"""
COUNT_UNTAKEN = """
    SELECT count(*) FROM runs WHERE completed_at IS NULL AND parked = 0 AND fence < ? AND run_no <= ?
"""
NEWEST = "SELECT partition, run_id FROM runs WHERE run_no >= 0 ORDER BY run_no DESC LIMIT 1"


def list_untaken(
    connection: SqliteConnection,
    fence: int,
    after: RunKey | None,
    limit: int,
    until: RunKey | None = None,
    partition: str | None = None,
) -> list[UntakenRun]:
    """RunOwnership.untaken."""
    with snapshot(connection):
        first = -1 if after is None else run_number(connection, after)
        last = _MAX_RUN_NO if until is None else run_number(connection, until)
        if first is None or last is None:
            return []
        limit = max(limit, 0)
        scans: list[list[Any]] = []
        for each in _untaken_fences(connection, fence):
            if partition is None:
                rows = connection.execute(UNTAKEN, (each, first, last, limit))
            else:
                rows = connection.execute(UNTAKEN_IN_PARTITION, (each, first, last, partition, limit))
            scans.append(rows.fetchall())
    page = islice(heapq.merge(*scans), limit)
    return [UntakenRun(RunKey(partition, run_id), bool(is_child)) for _, partition, run_id, is_child in page]


def _untaken_fences(connection: SqliteConnection, fence: int) -> Iterator[int]:
    """The fences of untaken runs, ascending."""
    found = -1
    while rows := connection.execute(NEXT_UNTAKEN_FENCE, (found, fence)).fetchall():
        found = rows[0][0]
        yield found


def count_untaken(connection: SqliteConnection, fence: int, until: RunKey) -> int:
    """RunOwnership.count_untaken. 0 up to an unknown run."""
    with snapshot(connection):
        last = run_number(connection, until)
        return connection.execute(COUNT_UNTAKEN, (fence, -1 if last is None else last)).fetchall()[0][0]


def find_newest(connection: SqliteConnection) -> RunKey | None:
    rows = connection.execute(NEWEST).fetchall()
    return RunKey(*rows[0]) if rows else None


_FIND_FENCE = "SELECT fence FROM runs WHERE partition = ? AND run_id = ?"
_TAKE = "UPDATE runs SET fence = ?, retry_at = NULL WHERE run_no = ?"
_RETRY_LATER = "UPDATE runs SET retry_at = ? WHERE run_no = ?"
DUE_RETRIES = """
    SELECT partition, run_id FROM runs
    WHERE fence = ? AND retry_at IS NOT NULL AND retry_at <= ? AND completed_at IS NULL
    ORDER BY retry_at, run_no LIMIT ?
"""
_FIND_EPOCH = "SELECT value FROM meta WHERE name = 'epoch'"
_NEXT_EPOCH = """
    INSERT INTO meta (name, value) VALUES ('epoch', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1
"""


def find_fence(connection: SqliteConnection, run: RunKey) -> int | None:
    rows = connection.execute(_FIND_FENCE, (run.partition, run.run_id)).fetchall()
    return rows[0][0] if rows else None


def take_run(connection: SqliteConnection, heads: RunHeadCache, run: RunKey, fence: int) -> bool:
    """RunOwnership.take."""
    head = heads.find(connection, run)
    if head is None or head.status in TERMINAL_STATUSES or head.fence > fence or _epoch(connection) > fence:
        return False
    if heads.unsaved_epoch:
        connection.execute(SAVE_EPOCH, (heads.unsaved_epoch,))
    connection.execute(_TAKE, (fence, head.run_no))
    heads.put(run, replace(head, fence=fence))
    return True


def retry_later(connection: SqliteConnection, heads: RunHeadCache, run: RunKey, fence: int, at: int) -> bool:
    """RunOwnership.retry_later."""
    head = heads.find(connection, run)
    if head is None or head.status in TERMINAL_STATUSES or head.fence != fence:
        return False
    connection.execute(_RETRY_LATER, (at, head.run_no))
    return True


def list_due_retries(connection: SqliteConnection, fence: int, until: int, limit: int) -> list[RunKey]:
    return [RunKey(*row) for row in connection.execute(DUE_RETRIES, (fence, until, max(limit, 0))).fetchall()]


def _epoch(connection: SqliteConnection) -> int:
    rows = connection.execute(_FIND_EPOCH).fetchall()
    return rows[0][0] if rows else 0


def _next_epoch(connection: SqliteConnection) -> int:
    connection.execute(_NEXT_EPOCH)
    return _epoch(connection)


class SqliteOwnership(SqlitePort):
    """Implements ports.storage.ownership.RunOwnership."""

    def __init__(self, writer: SqliteWriter, readers: SqliteReaders, heads: RunHeadCache) -> None:
        super().__init__(writer, readers)
        self._heads = heads

    async def take(self, run: RunKey, fence: int) -> bool:
        return await self._write(take_run, self._heads, run, fence)

    async def retry_later(self, run: RunKey, fence: int, at: int) -> bool:
        return await self._write(retry_later, self._heads, run, fence, at)

    fence_of = reads(find_fence)
    untaken = reads(list_untaken)
    count_untaken = reads(count_untaken)
    newest_run = reads(find_newest)
    due_retries = reads(list_due_retries)


class SqliteElection(SqlitePort):
    """Implements ports.storage.election.Election with a count of the starts.

    The lock of the data folder admits one process to the file, so this one is never replaced. A host starts on a full
    disk too, and serves what it has. Its epoch is then stored together with the first run that gets it as its fence; if
    that never happens, the next process may get the same one.
    """

    def __init__(
        self,
        writer: SqliteWriter,
        readers: SqliteReaders,
        connect: Callable[[], SqliteConnection],
        heads: RunHeadCache,
    ) -> None:
        super().__init__(writer, readers)
        self._connect = connect
        self._heads = heads
        self.lost = asyncio.Event()

    async def take(self, force: bool = False) -> int:
        await self._read(_epoch)  # raises for a store that is not open
        try:
            # On a connection of its own: after a failed write, the writer refuses the jobs that only read as well.
            return await asyncio.to_thread(self._count)
        except OUTAGES:
            self._heads.unsaved_epoch = await self._read(_epoch) + 1
            return self._heads.unsaved_epoch

    def _count(self) -> int:
        connection: Any = self._connect()
        try:
            with connection:
                return _next_epoch(connection)
        finally:
            connection.close(True)

    async def release(self) -> None: ...
