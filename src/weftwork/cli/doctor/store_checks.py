"""Checks of a PostgreSQL store: the server, its settings, the connection, the schema, and who executes runs."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.cli.console.text import clean
from weftwork.cli.console.units import format_size
from weftwork.cli.doctor.findings import Finding
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import HostFault
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.store import store_address

if TYPE_CHECKING:
    from weftwork.adapters.postgres.operation.inspection import ServerFacts

MAX_QUEUE_SHARE: Final = 0.1
"""The used share of the notification queue above which a listener is probably stuck."""
MAX_LISTED_TABLES: Final = 4
_SPARE_CONNECTIONS: Final = 3
"""Connections that commands such as `weftwork keys` need in addition to the hosts."""


def check_postgres(settings: Settings, replicas: int = 1) -> Iterator[Finding]:
    """All checks of the store that the settings name, for a number of processes. Changes nothing. Ends early if the
    server cannot be reached."""
    try:
        address = store_address(settings)
    except SettingsError as error:
        yield Finding("fail", "store", clean(str(error), 400))
        return
    # Imported late: it needs the optional package.
    from weftwork.adapters.postgres.operation.inspection import inspect_server

    try:
        facts = asyncio.run(inspect_server(address))
    except HostFault as error:
        yield Finding("fail", "store", clean(str(error), 400), "correct the setting store")
        return
    except StoreUnavailable as error:
        hint = "check that the server runs and accepts connections from this machine, and check user and password"
        yield Finding("fail", "store", f"{_place(address)}: {clean(str(error), 400)}", hint)
        return
    yield _version_finding(facts, address)
    yield _writable_finding(facts)
    yield from _durability_findings(facts.settings)
    yield _clock_finding(facts.skew_ms)
    yield _tls_finding(facts.tls, address.is_local)
    yield _encoding_finding(facts.settings["server_encoding"])
    yield _connections_finding(facts.limits, facts.connections, settings.store_connections, replicas)
    yield _queue_finding(facts.notification_queue)
    yield _schema_finding(facts, address.schema)
    if facts.schema_version:
        yield _executor_finding(facts.epoch, facts.holder)
        yield _size_finding(facts)


def _place(address: StoreAddress) -> str:
    return clean(f"{address.masked_url}, schema {address.schema}", 300)


def _version_finding(facts: "ServerFacts", address: StoreAddress) -> Finding:
    from weftwork.adapters.postgres.database.connection import VERSIONS

    message = f"PostgreSQL {clean(facts.settings['server_version'], 60)}, {_place(address)}"
    if facts.version in VERSIONS:
        return Finding("ok", "server", message)
    return Finding("fail", "server", message, f"use version {VERSIONS.start} to {VERSIONS.stop - 1}")


def _writable_finding(facts: "ServerFacts") -> Finding:
    if facts.is_standby:
        return Finding("fail", "writable", "the server is a standby", "name the primary in the URL of the store")
    if facts.settings["transaction_read_only"] == "on":
        hint = "turn default_transaction_read_only off for the database and the user"
        return Finding("fail", "writable", "transactions are read-only", hint)
    return Finding("ok", "writable", "the server accepts writes")


def _clock_finding(skew_ms: int) -> Finding:
    from weftwork.adapters.postgres.database.connection import MAX_SKEW_MS, WARN_SKEW_MS

    direction = "ahead of" if skew_ms > 0 else "behind"
    if abs(skew_ms) <= WARN_SKEW_MS:
        return Finding("ok", "skew", f"the server's clock is within {WARN_SKEW_MS} ms of this machine's")
    status = "fail" if abs(skew_ms) > MAX_SKEW_MS else "warn"
    message = f"the server's clock is {abs(skew_ms)} ms {direction} this machine's"
    return Finding(status, "skew", message, "synchronize both clocks with NTP")


def _tls_finding(version: str, is_local: bool) -> Finding:
    if version:
        return Finding("ok", "tls", version)
    if is_local:
        return Finding("ok", "tls", "not used; the server is on this machine")
    hint = "append sslmode=verify-full and sslrootcert=FILE to the URL of the store"
    return Finding("warn", "tls", "the connection is not encrypted", hint)


def _durability_findings(settings: dict[str, str]) -> Iterator[Finding]:
    """Without the first two, a crash of the server can destroy what it has acknowledged; a host refuses to start."""
    lossy = [name for name in ("fsync", "full_page_writes") if settings[name] != "on"]
    if lossy:
        message = (
            f"{' and '.join(lossy)} {'is' if len(lossy) == 1 else 'are'} off: a crash of the server can destroy data"
        )
        yield Finding("fail", "durability", message, "turn on in postgresql.conf; a host refuses to start otherwise")
    commit = settings["synchronous_commit"]
    if commit == "off":
        message = "synchronous_commit is off: a crash of the server loses the last commits, which were acknowledged"
        yield Finding("warn", "durability", message, "turn it on for the database or the user")
    elif not lossy:
        yield Finding("ok", "durability", f"fsync and full_page_writes are on, synchronous_commit is {commit}")


def _encoding_finding(encoding: str) -> Finding:
    if encoding == "UTF8":
        return Finding("ok", "encoding", encoding)
    hint = "create a database with ENCODING 'UTF8' TEMPLATE template0"
    return Finding("fail", "encoding", f"the database has the encoding {encoding}", hint)


def _connections_finding(limits: dict[str, int], used: int, per_process: int, replicas: int) -> Finding:
    """Whether the lowest limit of the server has room for all processes."""
    needed = per_process * replicas + _SPARE_CONNECTIONS
    name, limit = min(limits.items(), key=lambda item: item[1])
    processes = "1 process" if replicas == 1 else f"{replicas} processes"
    message = f"{processes} with {per_process} connections and commands need {needed}"
    message += f"; the limit of the {name} is {limit}, and {used} are open"
    if needed <= limit:
        return Finding("ok", "connections", message)
    return Finding("fail", "connections", message, "raise the limit (max_connections), or lower store_connections")


def _queue_finding(share: float) -> Finding:
    message = f"the notification queue is {share:.0%} full"
    if share < MAX_QUEUE_SHARE:
        return Finding("ok", "hints", message)
    hint = "a session that listens is stuck inside a transaction; find the oldest one in pg_stat_activity and end it"
    return Finding("warn", "hints", message, hint)


def _schema_finding(facts: "ServerFacts", name: str) -> Finding:
    version, newest = facts.schema_version, facts.newest_version
    if not version and not facts.may_create:
        hint = "grant the user CREATE on the database, then run `weftwork store migrate`"
        return Finding("warn", "schema", f"{name} does not exist, and the user may not create it", hint)
    if not version:
        hint = "create it with `weftwork store migrate`, or start the host with --migrate"
        return Finding("warn", "schema", f"{name} does not exist yet", hint)
    if facts.needs > newest:
        message = f"{name} has version {version} and needs a newer release; this one knows version {newest}"
        return Finding("fail", "schema", message, "use the release that migrated it, or a newer one")
    if version < newest:
        message = f"{name} has version {version}; this release needs version {newest}"
        return Finding("fail", "schema", message, "back up the database, then run `weftwork store migrate`")
    if facts.is_partial_copy:
        message = f"{name} is an unfinished copy of another store"
        return Finding("fail", "schema", message, "run the same `weftwork store copy` command again")
    return Finding("ok", "schema", f"{name} has version {version}")


def _executor_finding(epoch: int, holder: str) -> Finding:
    if not epoch:
        return Finding("ok", "executor", "no host has used this store yet")
    return Finding("ok", "executor", f"epoch {epoch}, last taken by {clean(holder, 200)}")


def _size_finding(facts: "ServerFacts") -> Finding:
    total = format_size(sum(each.size for each in facts.tables))
    largest = ", ".join(
        f"{each.name} {format_size(each.size)} (about {each.rows:,} rows)" for each in facts.tables[:MAX_LISTED_TABLES]
    )
    return Finding("ok", "size", f"{total} with indexes; largest: {largest}")
