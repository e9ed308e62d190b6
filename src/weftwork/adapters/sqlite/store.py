"""The store: one SQLite file that implements every storage port."""

from functools import partial
from pathlib import Path

from weftwork.adapters.sqlite.annotations import SqliteAnnotations
from weftwork.adapters.sqlite.assets import SqliteAssets
from weftwork.adapters.sqlite.child_runs import SqliteChildRuns
from weftwork.adapters.sqlite.database.connection import open_reader, open_writer
from weftwork.adapters.sqlite.database.reader import SqliteReaders
from weftwork.adapters.sqlite.database.writer import SqliteWriter
from weftwork.adapters.sqlite.definitions import SqliteDefinitions
from weftwork.adapters.sqlite.event_log import SqliteEventLog
from weftwork.adapters.sqlite.forks import SqliteForks
from weftwork.adapters.sqlite.idempotency import SqliteIdempotencyRecords
from weftwork.adapters.sqlite.keys import SqliteKeys, SqliteSigningKeys
from weftwork.adapters.sqlite.ownership import SqliteElection, SqliteOwnership
from weftwork.adapters.sqlite.retention import SqliteRunRetention
from weftwork.adapters.sqlite.run_queries import SqliteRunQueries
from weftwork.adapters.sqlite.transactions import RunHeadCache
from weftwork.ports.storage.store import Store


class SqliteStore(Store):
    """A store in one SQLite file. The first `open` creates the file, readable by its owner only.

    Only one process may have the file open at a time. `vfs` names an apsw VFS, for tests that simulate disk errors.
    """

    def __init__(self, path: str | Path, vfs: str | None = None) -> None:
        path = Path(path)
        heads = RunHeadCache()
        self._writer = writer = SqliteWriter(partial(open_writer, path, vfs), heads.clear)
        self._readers = readers = SqliteReaders(partial(open_reader, path, vfs))
        self.log = SqliteEventLog(writer, readers, heads)
        self.ownership = SqliteOwnership(writer, readers, heads)
        self.election = SqliteElection(writer, readers, partial(open_writer, path, vfs), heads)
        self.queries = SqliteRunQueries(writer, readers)
        self.child_runs = SqliteChildRuns(writer, readers)
        self.forks = SqliteForks(writer, readers, heads)
        self.records = SqliteIdempotencyRecords(writer, readers)
        self.retention = SqliteRunRetention(writer, readers)
        self.definitions = SqliteDefinitions(writer, readers)
        self.keys = SqliteKeys(writer, readers)
        self.signing = SqliteSigningKeys(writer, readers)
        self.annotations = SqliteAnnotations(writer, readers)
        self.assets = SqliteAssets(writer, readers)

    async def open(self) -> None:
        await self._writer.open()
        try:
            await self._readers.open()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Finish the queued reads and writes, then close the file."""
        await self._readers.close()
        await self._writer.close()
