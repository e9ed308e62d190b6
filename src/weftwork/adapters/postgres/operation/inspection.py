"""What an operator needs to know about a server, its schema and the process that executes runs. Changes nothing."""

import time
from typing import Any, Final

import msgspec

from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import (
    PostgresConnection,
    check_writable,
    connect,
    disconnect,
    translate,
)
from weftwork.adapters.postgres.database.migrations import load_migrations, schema_version
from weftwork.adapters.postgres.operation.table_copy import read_copy_state

_SETTINGS: Final = (
    "server_version",
    "server_encoding",
    "fsync",
    "full_page_writes",
    "synchronous_commit",
    "max_connections",
    "superuser_reserved_connections",
    "transaction_read_only",
)
_FIND_SETTINGS: Final = "SELECT name, setting FROM pg_settings WHERE name = ANY($1)"
_FIND_SESSION: Final = """
    SELECT pg_is_in_recovery() AS is_standby, s.version AS tls_version, pg_notification_queue_usage() AS queue,
      (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
      d.datconnlimit AS database_limit, r.rolconnlimit AS role_limit,
      has_database_privilege(d.oid, 'CREATE') AS may_create
    FROM pg_database d, pg_roles r, pg_stat_ssl s
    WHERE d.datname = current_database() AND r.rolname = current_user AND s.pid = pg_backend_pid()
"""
_CLOCK: Final = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
_FIND_TABLES: Final = """
    SELECT c.relname, greatest(c.reltuples, 0)::bigint, pg_total_relation_size(c.oid) FROM pg_class c
    WHERE c.relnamespace = to_regnamespace($1) AND c.relkind = 'r' ORDER BY 3 DESC, 1
"""
_FIND_ELECTION: Final = "SELECT epoch, holder FROM elections ORDER BY slot LIMIT 1"


class TableSize(msgspec.Struct, frozen=True, rename="camel"):
    """A table with the server's estimate of its rows, and its bytes with indexes."""

    name: str
    rows: int
    size: int


class ServerFacts(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The state of a server at one moment."""

    version: int
    """The major version."""
    settings: dict[str, str]
    is_standby: bool
    tls: str
    """The version of TLS on this connection; empty if it is not encrypted."""
    skew_ms: int
    """The clock of the server minus that of this machine."""
    connections: int
    """Open connections of all clients."""
    limits: dict[str, int]
    """Limits on connections, by what they are for, without those that do not exist."""
    notification_queue: float
    """The used share of the queue, between 0 and 1."""
    may_create: bool
    """Whether the user may create schemas in the database."""
    schema_version: int
    """0 if the schema was not created yet."""
    needs: int
    """The lowest version that a release has to know to use the schema."""
    newest_version: int
    """The version that this release creates."""
    is_partial_copy: bool
    tables: list[TableSize]
    epoch: int = 0
    """The epoch of the process that was elected last; 0 if no process ever was."""
    holder: str = ""


async def check_connection(address: StoreAddress) -> None:
    """Raises StoreUnavailable if the server does not accept connections and writes now, AccessDenied if it does not
    accept the user, and HostFault for an address that cannot be used."""
    connection = await connect(address, application_name="weftwork check")
    try:
        await check_writable(connection)
    except Exception as error:
        raise translate(error, False) from error
    finally:
        await disconnect(connection)


async def inspect_server(address: StoreAddress) -> ServerFacts:
    """The facts about a server, also about a standby. Raises StoreUnavailable, or HostFault for an address that cannot
    be used."""
    if not address.names_session:
        # A host connects only to a server that it can write to, and its error does not say what the other servers are.
        address = StoreAddress(_with_parameter(address.url, "target_session_attrs=any"), address.schema)
    connection = await connect(address, application_name="weftwork check")
    try:
        return await _read_facts(connection, address)
    except Exception as error:
        raise translate(error, False) from error
    finally:
        await disconnect(connection)


async def _read_facts(connection: PostgresConnection, address: StoreAddress) -> ServerFacts:
    before = time.time()
    server_time = await connection.fetchval(_CLOCK)
    skew_ms = round(server_time - (before + time.time()) / 2 * 1000)
    settings: dict[str, str] = dict(await connection.fetch(_FIND_SETTINGS, _SETTINGS))
    session: Any = await connection.fetchrow(_FIND_SESSION)
    usable = int(settings["max_connections"]) - int(settings["superuser_reserved_connections"])
    limits = {"server": usable, "database": session["database_limit"], "user": session["role_limit"]}
    schema = await schema_version(connection, address)
    state = await read_copy_state(connection) if schema.version else None
    elected = await connection.fetchrow(_FIND_ELECTION) if schema.version else None
    return ServerFacts(
        version=connection.get_server_version().major,
        settings=settings,
        is_standby=session["is_standby"],
        tls=session["tls_version"] or "",
        skew_ms=skew_ms,
        connections=session["connections"],
        limits={name: limit for name, limit in limits.items() if limit >= 0},
        notification_queue=session["queue"],
        may_create=session["may_create"],
        schema_version=schema.version,
        needs=schema.needs,
        newest_version=load_migrations()[-1].number,
        is_partial_copy=state is not None and not state.finished_at,
        tables=[TableSize(*row) for row in await connection.fetch(_FIND_TABLES, address.schema)],
        epoch=elected[0] if elected is not None else 0,
        holder=elected[1] if elected is not None else "",
    )


def _with_parameter(url: str, parameter: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}{parameter}"
