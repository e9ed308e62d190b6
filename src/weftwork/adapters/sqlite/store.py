"""One SQLite file behind every storage port."""

from functools import partial
from pathlib import Path

from weftwork.adapters.sqlite.annotations import SqliteAnnotations
from weftwork.adapters.sqlite.assets import SqliteAssets
from weftwork.adapters.sqlite.database.connection import open_reader, open_writer
from weftwork.adapters.sqlite.database.reader import SqliteReaders
from weftwork.adapters.sqlite.database.writer import SqliteWriter
from weftwork.adapters.sqlite.definitions import SqliteDefinitions
from weftwork.adapters.sqlite.event_log import SqliteEventLog
from weftwork.adapters.sqlite.keys import SqliteKeys, SqliteSigningKeys
from weftwork.adapters.sqlite.transactions import RunHeadCache
from weftwork.ports.storage.annotations import AnnotationStore
from weftwork.ports.storage.api_keys import ApiKeys
from weftwork.ports.storage.assets import AssetIndex
from weftwork.ports.storage.definitions import Definitions
from weftwork.ports.storage.event_log import EventLog
from weftwork.ports.storage.signing_keys import SigningKeys


class SqliteStore:
    """The file is made on the first `open`, for its owner only. One process at a time may have it open.

    `vfs` names an apsw VFS, for tests that break the disk.
    """

    log: EventLog
    definitions: Definitions
    keys: ApiKeys
    signing: SigningKeys
    annotations: AnnotationStore
    assets: AssetIndex

    def __init__(self, path: str | Path, vfs: str | None = None) -> None:
        path = Path(path)
        heads = RunHeadCache()
        self._writer = SqliteWriter(partial(open_writer, path, vfs), heads.clear)
        self._readers = SqliteReaders(partial(open_reader, path, vfs))
        self.log = SqliteEventLog(self._writer, self._readers, heads)
        self.definitions = SqliteDefinitions(self._writer, self._readers)
        self.keys = SqliteKeys(self._writer, self._readers)
        self.signing = SqliteSigningKeys(self._writer, self._readers)
        self.annotations = SqliteAnnotations(self._writer, self._readers)
        self.assets = SqliteAssets(self._writer, self._readers)

    async def open(self) -> None:
        """Open and migrate. Raises StoreUnavailable, or HostFault for a file or library that must not be used."""
        await self._writer.open()
        try:
            await self._readers.open()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Let queued writes finish, then close the file. Safe to call twice."""
        await self._readers.close()
        await self._writer.close()
