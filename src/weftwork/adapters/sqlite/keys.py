"""The keys port on the SQLite file."""

import secrets
from functools import partial

import msgspec

from weftwork.adapters.sqlite.driver import Connection
from weftwork.adapters.sqlite.reader import Readers
from weftwork.adapters.sqlite.writer import Writer
from weftwork.ports.keys import KeyRow

_SALT = "SELECT value FROM meta WHERE name = 'salt'"
_MAKE_SALT = "INSERT INTO meta (name, value) VALUES ('salt', ?)"
_PUT = """
    INSERT INTO keys (key_id, digest, tenant, mode, scopes, label, created_at, expires_at, revoked_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (key_id) DO UPDATE SET
      digest = excluded.digest, tenant = excluded.tenant, mode = excluded.mode, scopes = excluded.scopes,
      label = excluded.label, created_at = excluded.created_at, expires_at = excluded.expires_at,
      revoked_at = excluded.revoked_at
"""
_ALL = """
    SELECT key_id, digest, tenant, mode, scopes, label, created_at, expires_at, revoked_at FROM keys
    ORDER BY created_at, key_no
"""


class SqliteKeys:
    """Implements ports.keys.Keys."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._write = writer.submit
        self._read = readers.submit

    async def salt(self) -> bytes:
        return await self._write(partial(_salt, secrets.token_bytes(32)))

    async def put(self, row: KeyRow) -> None:
        await self._write(partial(_put, row))

    async def all(self) -> list[KeyRow]:
        return await self._read(_all)


def _salt(fresh: bytes, connection: Connection) -> bytes:
    found = connection.execute(_SALT).fetchall()
    if found:
        return found[0][0]
    connection.execute(_MAKE_SALT, (fresh,))
    return fresh


def _put(row: KeyRow, connection: Connection) -> None:
    scopes = msgspec.json.encode(row.scopes).decode()
    fixed = (row.key_id, row.digest, row.tenant, row.mode, scopes, row.label)
    connection.execute(_PUT, (*fixed, row.created_at, row.expires_at, row.revoked_at))


def _all(connection: Connection) -> list[KeyRow]:
    found = connection.execute(_ALL).fetchall()
    return [
        KeyRow(key_id, digest, tenant, mode, msgspec.json.decode(scopes, type=tuple[str, ...]), *rest)
        for key_id, digest, tenant, mode, scopes, *rest in found
    ]
