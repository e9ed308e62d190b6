"""The API key and signing key ports on PostgreSQL."""

import secrets

import msgspec

from weftwork.adapters.postgres.database.connection import PostgresConnection
from weftwork.adapters.postgres.database.port import PostgresPort, reads_once, writes
from weftwork.ports.storage.api_keys import ApiKeyRow
from weftwork.ports.storage.signing_keys import SigningKey

_FIND_SALT = "SELECT value FROM meta WHERE name = 'salt'"
# The primary key of `meta` decides between two processes that both create the salt.
_PUT_SALT = "INSERT INTO meta (name, value) VALUES ('salt', $1) ON CONFLICT (name) DO NOTHING"
_KEY_COLUMNS = "key_id, digest, tenant, mode, scopes, label, created_at, expires_at, revoked_at"
_PUT_KEY = f"""
    INSERT INTO keys ({_KEY_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (key_id) DO UPDATE SET
      digest = excluded.digest, tenant = excluded.tenant, mode = excluded.mode, scopes = excluded.scopes,
      label = excluded.label, created_at = excluded.created_at, expires_at = excluded.expires_at,
      revoked_at = excluded.revoked_at
"""
_ALL_KEYS = f"SELECT {_KEY_COLUMNS} FROM keys ORDER BY created_at, key_no"


async def _salt(connection: PostgresConnection, new_salt: bytes) -> bytes:
    await connection.execute(_PUT_SALT, new_salt)
    return await connection.fetchval(_FIND_SALT)


async def _put_key(connection: PostgresConnection, row: ApiKeyRow) -> None:
    columns = msgspec.structs.asdict(row) | {"scopes": [*row.scopes]}
    await connection.execute(_PUT_KEY, *columns.values())


async def _all_keys(connection: PostgresConnection) -> list[ApiKeyRow]:
    return [
        ApiKeyRow(key_id, digest, tenant, mode, tuple(scopes), *rest)
        for key_id, digest, tenant, mode, scopes, *rest in await connection.fetch(_ALL_KEYS)
    ]


_PUT_SIGNING_KEY = """
    INSERT INTO signing_keys (kid, secret, created_at, retired_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (kid) DO UPDATE SET
      secret = excluded.secret, created_at = excluded.created_at, retired_at = excluded.retired_at
"""
_DELETE_SIGNING_KEY = "DELETE FROM signing_keys WHERE kid = $1 RETURNING true"
_ALL_SIGNING_KEYS = "SELECT kid, secret, created_at, retired_at FROM signing_keys ORDER BY created_at, key_no"


async def _put_signing_key(connection: PostgresConnection, key: SigningKey) -> None:
    await connection.execute(_PUT_SIGNING_KEY, *msgspec.structs.astuple(key))


async def _delete_signing_key(connection: PostgresConnection, kid: str) -> bool:
    return bool(await connection.fetchval(_DELETE_SIGNING_KEY, kid))


async def _all_signing_keys(connection: PostgresConnection) -> list[SigningKey]:
    return [SigningKey(*row) for row in await connection.fetch(_ALL_SIGNING_KEYS)]


class PostgresKeys(PostgresPort):
    """Implements ports.storage.api_keys.ApiKeys."""

    async def salt(self) -> bytes:
        new_salt = secrets.token_bytes(32)
        return await self._pool.transact(lambda connection: _salt(connection, new_salt))

    put = writes(_put_key)
    all = reads_once(_all_keys)


class PostgresSigningKeys(PostgresPort):
    """Implements ports.storage.signing_keys.SigningKeys."""

    put = writes(_put_signing_key)
    drop = writes(_delete_signing_key)
    all = reads_once(_all_signing_keys)
