"""The definitions port on the SQLite file."""

from msgspec.structs import astuple

from weftwork.adapters.sqlite import idempotency
from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.database.port import SqlitePort, reads, writes
from weftwork.adapters.sqlite.database.reader import snapshot
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

_PUT = "INSERT INTO definitions (digest, document) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING"
_GET = "SELECT document FROM definitions WHERE digest = ?"
_COLUMNS = "tenant, workflow_id, version, digest, created_at, name, description"
_FIND_VERSION = f"SELECT {_COLUMNS} FROM workflows WHERE tenant = ? AND workflow_id = ? AND version = ?"  # noqa: S608
_FIND_CURRENT = f"SELECT {_COLUMNS} FROM workflows WHERE tenant = ? AND workflow_id = ? AND current = 1"  # noqa: S608
_HAS_NTH_VERSION = "SELECT 1 FROM workflows WHERE tenant = ? LIMIT 1 OFFSET ?"
_SUPERSEDE = "UPDATE workflows SET current = 0 WHERE tenant = ? AND workflow_id = ? AND current = 1"
_REGISTER = """
    INSERT INTO workflows (tenant, workflow_id, version, digest, created_at, name, description, current)
    VALUES (?, ?, ?, ?, ?, ?, ?, 1)
"""
_PAGE = f"""
    SELECT {_COLUMNS} FROM workflows WHERE tenant = ? AND workflow_id > ? AND current = 1 ORDER BY workflow_id LIMIT ?
"""  # noqa: S608 - nothing but constants
_VERSIONS = """
    SELECT version FROM workflows WHERE tenant = ? AND workflow_id = ? ORDER BY workflow_no DESC LIMIT ?
"""
_COUNT = "SELECT count(*) FROM workflows WHERE current = 1"


def _put(connection: SqliteConnection, digest: str, document: bytes) -> None:
    connection.execute(_PUT, (digest, document))


def _get(connection: SqliteConnection, digest: str) -> bytes | None:
    rows = connection.execute(_GET, (digest,)).fetchall()
    return rows[0][0] if rows else None


def _register(
    connection: SqliteConnection,
    registration: WorkflowRegistration,
    document: bytes,
    most: int,
    record: IdempotencyRecord | None = None,
) -> VersionRegistered | VersionExists | RegistrationLimitReached | SlotTaken:
    taken = idempotency.find_recorded(connection, record) if record is not None else None
    if taken is not None:
        return taken
    new = registration
    existing = _find(connection, new.tenant, new.workflow_id, new.version)
    if existing is not None:
        return VersionExists(existing)
    if connection.execute(_HAS_NTH_VERSION, (new.tenant, most - 1)).fetchall():
        return RegistrationLimitReached()
    _put(connection, new.digest, document)
    connection.execute(_SUPERSEDE, (new.tenant, new.workflow_id))
    connection.execute(_REGISTER, astuple(new))
    if record is not None:
        idempotency.put_record(connection, record)
    return VersionRegistered()


def _find(
    connection: SqliteConnection, tenant: str, workflow_id: str, version: str | None = None
) -> WorkflowRegistration | None:
    if version is None:
        rows = connection.execute(_FIND_CURRENT, (tenant, workflow_id)).fetchall()
    else:
        rows = connection.execute(_FIND_VERSION, (tenant, workflow_id, version)).fetchall()
    return WorkflowRegistration(*rows[0]) if rows else None


def _workflows(connection: SqliteConnection, tenant: str, after: str | None, limit: int) -> list[ListedWorkflow]:
    with snapshot(connection):
        rows = connection.execute(_PAGE, (tenant, after or "", max(limit, 0))).fetchall()
        page = [WorkflowRegistration(*row) for row in rows]
        return [ListedWorkflow(each, _versions(connection, each)) for each in page]


def _versions(connection: SqliteConnection, workflow: WorkflowRegistration) -> tuple[str, ...]:
    values = (workflow.tenant, workflow.workflow_id, MAX_LISTED_VERSIONS)
    return tuple(row[0] for row in connection.execute(_VERSIONS, values).fetchall())


def _count(connection: SqliteConnection) -> int:
    return connection.execute(_COUNT).fetchall()[0][0]


class SqliteDefinitions(SqlitePort):
    """Implements ports.storage.definitions.Definitions."""

    put = writes(_put)
    get = reads(_get)
    register = writes(_register)
    find = reads(_find)
    workflows = reads(_workflows)
    count = reads(_count)
