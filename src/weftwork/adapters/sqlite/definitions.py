"""The definitions port on the SQLite file."""

from functools import partial

from weftwork.adapters.sqlite.driver import Connection
from weftwork.adapters.sqlite.reader import Readers
from weftwork.adapters.sqlite.writer import Writer

_PUT = "INSERT INTO definitions (digest, document) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING"
_GET = "SELECT document FROM definitions WHERE digest = ?"


class SqliteDefinitions:
    """Implements ports.definitions.Definitions."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._write = writer.submit
        self._read = readers.submit

    async def put(self, digest: str, document: bytes) -> None:
        await self._write(partial(_put, digest, document))

    async def get(self, digest: str) -> bytes | None:
        return await self._read(partial(_get, digest))


def _put(digest: str, document: bytes, connection: Connection) -> None:
    connection.execute(_PUT, (digest, document))


def _get(digest: str, connection: Connection) -> bytes | None:
    found = connection.execute(_GET, (digest,)).fetchall()
    return found[0][0] if found else None
