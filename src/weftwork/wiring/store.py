"""Builds the store that the settings select. `serve`, offline administration and `doctor` share it."""

import asyncio
import random
from collections.abc import Callable
from typing import Any, Final

from weftwork.adapters.memory.store import MemoryStore
from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.hints import Hints
from weftwork.ports.storage.event_log import AccessDenied, StoreUnavailable
from weftwork.ports.storage.store import Store
from weftwork.protocol.errors import HostFault
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.data_folder import DATABASE_FILE

SINGLE_CONNECTIONS: Final = 4
"""Connections of a process that have one purpose each: the writer, the election, and two for hints."""
MIN_DELAY, MAX_DELAY = 0.1, 5.0
"""Seconds between two attempts to reach the server."""


def build_store(settings: Settings) -> Store:
    """The store of a host, which is not open yet. Raises SettingsError."""
    if settings.store_kind == "memory":
        return MemoryStore()
    if settings.store_kind == "sqlite":
        return SqliteStore(settings.data_folder / DATABASE_FILE)
    store_address(settings)
    from weftwork.adapters.postgres.store import PostgresStore

    pool = settings.store_connections - SINGLE_CONNECTIONS
    return PostgresStore(settings.store, settings.store_schema, settings.migrate, pool)


def report_of(store: Store) -> Callable[[], dict[str, Any]] | None:
    """The function that says how this process has used the store; None if the store does not count this."""
    return getattr(store, "report", None)


def build_hints(settings: Settings) -> Hints | None:
    """How the host and the commands of the operator tell each other about changes of the store; None for a store that
    only one process can open."""
    if settings.store_kind != "postgres":
        return None
    address = store_address(settings)
    from weftwork.adapters.postgres.processes.hints import PostgresHints

    return PostgresHints(address)


def store_address(settings: Settings) -> StoreAddress:
    """The address of a PostgreSQL store. Raises SettingsError, also if the optional packages are not installed."""
    try:
        # The client library is an optional dependency, which only hosts on PostgreSQL install.
        import asyncpg  # pyright: ignore[reportMissingTypeStubs,reportUnusedImport]  # noqa: F401
    except ModuleNotFoundError:
        raise SettingsError(
            "a PostgreSQL store needs an optional package; run: pip install 'weftwork[postgres]'"
        ) from None
    try:
        return StoreAddress(settings.store, settings.store_schema)
    except HostFault as error:
        raise SettingsError(f"store: {error}") from None


def describe_store(settings: Settings) -> str:
    """The store as messages name it: the data folder, or the URL without its password."""
    if settings.store_kind == "memory":
        return "in memory, lost at exit"
    if settings.store_kind == "sqlite":
        return settings.data
    address = store_address(settings)
    return f"{address.masked_url}, schema {address.schema}"


async def wait_for_store(settings: Settings, on_waiting: Callable[[str], None]) -> None:
    """Return when the server of a PostgreSQL store accepts connections and writes. `on_waiting` is called with the
    reason after each attempt that fails. Raises SettingsError or HostFault for a store that waiting does not help."""
    if settings.store_kind != "postgres":
        return
    address = store_address(settings)
    from weftwork.adapters.postgres.operation.inspection import check_connection

    delay = MIN_DELAY
    while True:
        try:
            await check_connection(address)
            return
        except AccessDenied as error:
            raise HostFault(str(error)) from None
        except StoreUnavailable as error:
            on_waiting(str(error))
        await asyncio.sleep(delay * random.uniform(0.5, 1.0))  # noqa: S311
        delay = min(delay * 2, MAX_DELAY)
