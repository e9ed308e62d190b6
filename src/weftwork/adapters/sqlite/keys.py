"""The API key and signing key ports on the SQLite file."""

import secrets

import msgspec

from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.database.port import SqlitePort, reads, writes
from weftwork.ports.storage.api_keys import ApiKeyRow
from weftwork.ports.storage.signing_keys import SigningKey

_SALT = "SELECT value FROM meta WHERE name = 'salt'"
_INSERT_SALT = "INSERT INTO meta (name, value) VALUES ('salt', ?)"
_PUT_KEY = """
    INSERT INTO keys (key_id, digest, tenant, mode, scopes, label, created_at, expires_at, revoked_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (key_id) DO UPDATE SET
      digest = excluded.digest, tenant = excluded.tenant, mode = excluded.mode, scopes = excluded.scopes,
      label = excluded.label, created_at = excluded.created_at, expires_at = excluded.expires_at,
      revoked_at = excluded.revoked_at
"""
_ALL_KEYS = """
    SELECT key_id, digest, tenant, mode, scopes, label, created_at, expires_at, revoked_at FROM keys
    ORDER BY created_at, key_no
"""


def _salt(connection: SqliteConnection, new_salt: bytes) -> bytes:
    rows = connection.execute(_SALT).fetchall()
    if rows:
        return rows[0][0]
    connection.execute(_INSERT_SALT, (new_salt,))
    return new_salt


def _put_key(connection: SqliteConnection, row: ApiKeyRow) -> None:
    columns = msgspec.structs.asdict(row) | {"scopes": msgspec.json.encode(row.scopes).decode()}
    connection.execute(_PUT_KEY, (*columns.values(),))


def _all_keys(connection: SqliteConnection) -> list[ApiKeyRow]:
    rows = connection.execute(_ALL_KEYS).fetchall()
    return [
        ApiKeyRow(key_id, digest, tenant, mode, msgspec.json.decode(scopes, type=tuple[str, ...]), *rest)
        for key_id, digest, tenant, mode, scopes, *rest in rows
    ]


_PUT_SIGNING_KEY = """
    INSERT INTO signing_keys (kid, secret, created_at, retired_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (kid) DO UPDATE SET
      secret = excluded.secret, created_at = excluded.created_at, retired_at = excluded.retired_at
"""
_DELETE_SIGNING_KEY = "DELETE FROM signing_keys WHERE kid = ?"
_ALL_SIGNING_KEYS = "SELECT kid, secret, created_at, retired_at FROM signing_keys ORDER BY created_at, key_no"


def _put_signing_key(connection: SqliteConnection, key: SigningKey) -> None:
    connection.execute(_PUT_SIGNING_KEY, msgspec.structs.astuple(key))


def _delete_signing_key(connection: SqliteConnection, kid: str) -> bool:
    connection.execute(_DELETE_SIGNING_KEY, (kid,))
    return bool(connection.changes())


def _all_signing_keys(connection: SqliteConnection) -> list[SigningKey]:
    return [SigningKey(*row) for row in connection.execute(_ALL_SIGNING_KEYS).fetchall()]


class SqliteKeys(SqlitePort):
    """Implements ports.storage.api_keys.ApiKeys."""

    async def salt(self) -> bytes:
        return await self._write(_salt, secrets.token_bytes(32))

    put = writes(_put_key)
    all = reads(_all_keys)


class SqliteSigningKeys(SqlitePort):
    """Implements ports.storage.signing_keys.SigningKeys."""

    put = writes(_put_signing_key)
    drop = writes(_delete_signing_key)
    all = reads(_all_signing_keys)
