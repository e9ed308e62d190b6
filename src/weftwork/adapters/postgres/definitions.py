"""The definitions port on PostgreSQL."""

from typing import Any

from msgspec.structs import astuple

from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import PostgresConnection
from weftwork.adapters.postgres.database.pool import Refused, SessionPool
from weftwork.adapters.postgres.database.port import PostgresPort, reads_once, writes
from weftwork.adapters.postgres.idempotency import claim
from weftwork.ports.storage.definitions import (
    MAX_LISTED_VERSIONS,
    ListedWorkflow,
    RegistrationLimitReached,
    VersionExists,
    VersionRegistered,
    WorkflowRegistration,
)
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import IdempotencyRecord

_PUT = "INSERT INTO definitions (digest, document) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING"
_GET = "SELECT document FROM definitions WHERE digest = $1"
_COLUMNS = "tenant, workflow_id, version, digest, created_at, name, description"
_FIND_VERSION = f"SELECT {_COLUMNS} FROM workflows WHERE tenant = $1 AND workflow_id = $2 AND version = $3"
_FIND_CURRENT = f"SELECT {_COLUMNS} FROM workflows WHERE tenant = $1 AND workflow_id = $2 AND current"
_LOCK_TENANT = "SELECT pg_advisory_xact_lock($1)"
_HAS_NTH_VERSION = "SELECT 1 FROM workflows WHERE tenant = $1 LIMIT 1 OFFSET $2"
_SUPERSEDE = "UPDATE workflows SET current = false WHERE tenant = $1 AND workflow_id = $2 AND current"
_REGISTER = f"INSERT INTO workflows ({_COLUMNS}, current) VALUES ($1, $2, $3, $4, $5, $6, $7, true)"
_PAGE = f"""
    SELECT {_COLUMNS}, ARRAY(
      SELECT v.version FROM workflows v WHERE v.tenant = w.tenant AND v.workflow_id = w.workflow_id
      ORDER BY v.workflow_no DESC LIMIT {MAX_LISTED_VERSIONS}
    ) FROM workflows w WHERE tenant = $1 AND workflow_id > $2 AND current ORDER BY workflow_id LIMIT $3
"""
_COUNT = "SELECT count(*) FROM workflows WHERE current"


async def _put(connection: PostgresConnection, digest: str, document: bytes) -> None:
    await connection.execute(_PUT, digest, document)


async def _get(connection: PostgresConnection, digest: str) -> bytes | None:
    return await connection.fetchval(_GET, digest)


async def _find(
    connection: PostgresConnection, tenant: str, workflow_id: str, version: str | None = None
) -> WorkflowRegistration | None:
    if version is None:
        row = await connection.fetchrow(_FIND_CURRENT, tenant, workflow_id)
    else:
        row = await connection.fetchrow(_FIND_VERSION, tenant, workflow_id, version)
    return WorkflowRegistration(*row) if row is not None else None


async def _workflows(
    connection: PostgresConnection, tenant: str, after: str | None, limit: int
) -> list[ListedWorkflow]:
    rows = await connection.fetch(_PAGE, tenant, after or "", max(limit, 0))
    return [ListedWorkflow(WorkflowRegistration(*row), tuple(versions)) for *row, versions in rows]


async def _count(connection: PostgresConnection) -> int:
    return await connection.fetchval(_COUNT)


class PostgresDefinitions(PostgresPort):
    """Implements ports.storage.definitions.Definitions. The registrations of a tenant go one after the other: their
    number is limited, and one of them is the current version."""

    def __init__(self, pool: SessionPool, address: StoreAddress) -> None:
        super().__init__(pool)
        self._address = address

    put = writes(_put)
    get = reads_once(_get)
    find = reads_once(_find)
    workflows = reads_once(_workflows)
    count = reads_once(_count)

    async def register(
        self, registration: WorkflowRegistration, document: bytes, most: int, record: IdempotencyRecord | None = None
    ) -> VersionRegistered | VersionExists | RegistrationLimitReached | SlotTaken:
        new = registration

        async def register(connection: PostgresConnection) -> Any:
            await claim(connection, record)
            await connection.execute(_LOCK_TENANT, self._address.lock_key("workflows", new.tenant))
            existing = await _find(connection, new.tenant, new.workflow_id, new.version)
            if existing is not None:
                raise Refused(VersionExists(existing))
            if await connection.fetchval(_HAS_NTH_VERSION, new.tenant, most - 1) is not None:
                raise Refused(RegistrationLimitReached())
            await _put(connection, new.digest, document)
            await connection.execute(_SUPERSEDE, new.tenant, new.workflow_id)
            await connection.execute(_REGISTER, *astuple(new))
            return VersionRegistered()

        return await self._pool.transact(register)
