"""The signing keys port on the SQLite file."""

from functools import partial

from weftwork.adapters.sqlite.driver import Connection
from weftwork.adapters.sqlite.reader import Readers
from weftwork.adapters.sqlite.writer import Writer
from weftwork.ports.signing import SigningKey

_PUT = """
    INSERT INTO signing_keys (kid, secret, created_at, retired_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (kid) DO UPDATE SET
      secret = excluded.secret, created_at = excluded.created_at, retired_at = excluded.retired_at
"""
_DROP = "DELETE FROM signing_keys WHERE kid = ?"
_ALL = "SELECT kid, secret, created_at, retired_at FROM signing_keys ORDER BY created_at, key_no"


class SqliteSigningKeys:
    """Implements ports.signing.SigningKeys."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._write = writer.submit
        self._read = readers.submit

    async def put(self, key: SigningKey) -> None:
        await self._write(partial(_put, key))

    async def drop(self, kid: str) -> bool:
        return await self._write(partial(_drop, kid))

    async def all(self) -> list[SigningKey]:
        return await self._read(_all)


def _put(key: SigningKey, connection: Connection) -> None:
    connection.execute(_PUT, (key.kid, key.secret, key.created_at, key.retired_at))


def _drop(kid: str, connection: Connection) -> bool:
    connection.execute(_DROP, (kid,))
    return bool(connection.changes())


def _all(connection: Connection) -> list[SigningKey]:
    return [SigningKey(*row) for row in connection.execute(_ALL).fetchall()]
