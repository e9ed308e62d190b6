"""Opens sessions on the server, and translates errors. The only module that imports asyncpg.

The protocol describes the part of a connection that is used here, because asyncpg has no annotations.

Errors. A statement has certainly failed if the server has answered with an error and the session is still open: then
its transaction was rolled back. If the connection is lost in between, the outcome is unknown, because the commit may
have happened. The callers of `translate` say whether a commit had been sent.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import msgspec

from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.ports.storage.event_log import AccessDenied, OutcomeUnknown, StoreDamaged, StoreUnavailable
from weftwork.protocol.errors import HostFault

VERSIONS: Final = range(15, 19)
CONNECT_SECONDS: Final = 5.0
MAX_SKEW_MS: Final = 5_000
WARN_SKEW_MS: Final = 500

SESSION: Final[Mapping[str, str]] = {
    "application_name": "weftwork",
    "client_encoding": "UTF8",
    "timezone": "UTC",
    "statement_timeout": "10s",
    "lock_timeout": "2s",
    # A process that is suspended inside a transaction must not block the one that replaces it.
    "idle_in_transaction_session_timeout": "3s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "15s",
    "jit": "off",
    "default_transaction_isolation": "read committed",
}
TCP_TIMEOUT_MS: Final = 15_000
"""How long sent bytes may stay without an answer of the other machine."""
STATEMENT_SECONDS: Final = 15.0
"""How long the client waits for the answer to a statement: the server ends it before that."""
CHORE_TIMEOUT: Final = "SET LOCAL statement_timeout = '60s'"

logger = logging.getLogger(__name__)

Row = Any
"""A record of asyncpg: a sequence whose values have the types of the columns."""


class Statement(Protocol):
    """A prepared statement."""

    async def fetch(self, *arguments: Any) -> list[Row]: ...


class PostgresConnection(Protocol):
    async def execute(self, query: str, *arguments: Any) -> str: ...
    async def executemany(self, command: str, args: Sequence[Sequence[Any]]) -> None: ...
    async def fetch(self, query: str, *arguments: Any) -> list[Row]: ...
    async def fetchrow(self, query: str, *arguments: Any) -> Row | None: ...
    async def fetchval(self, query: str, *arguments: Any) -> Any: ...
    async def prepare(self, query: str) -> Statement: ...
    async def add_listener(self, channel: str, callback: Callable[..., None]) -> None: ...
    async def close(self, *, timeout: float) -> None: ...
    def add_termination_listener(self, callback: Callable[..., None]) -> None: ...
    def get_server_pid(self) -> int: ...
    def get_server_version(self) -> Any: ...
    def is_closed(self) -> bool: ...
    def is_in_transaction(self) -> bool: ...
    def terminate(self) -> None: ...


async def connect(address: StoreAddress, **settings: str) -> PostgresConnection:
    """A new session whose search path is the schema. `settings` override those in SESSION.

    Raises StoreUnavailable, or HostFault for an address that cannot be used.
    """
    options: dict[str, Any] = {} if address.names_session else {"target_session_attrs": "read-write"}
    server_settings = {**SESSION, "search_path": f'"{address.schema}"', **settings}
    library: Any = asyncpg
    try:
        connection = await library.connect(
            address.url,
            timeout=CONNECT_SECONDS,
            server_settings=server_settings,
            # Plans that were made for small tables are forgotten soon.
            max_cached_statement_lifetime=30,
            **options,
        )
    except (ValueError, asyncpg.ClientConfigurationError) as error:
        raise HostFault(address.mask(f"the URL of the store cannot be used: {error}")) from None
    except _DENIED as error:
        raise AccessDenied(address.mask(f"the server refuses the connection: {error}")) from None
    except asyncpg.TargetServerAttributeNotMatched:
        raise StoreUnavailable("no server accepts writes: a standby, or transactions are read-only") from None
    except asyncpg.TooManyConnectionsError as error:
        raise StoreUnavailable(address.mask(f"the server refuses the connection: {error}")) from None
    except Exception as error:
        text = address.mask(f"no connection to the server: {type(error).__name__}: {error}")
        raise StoreUnavailable(text) from None
    _limit_silence(connection)
    return connection


_DENIED: Final = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
)


def _limit_silence(connection: Any) -> None:
    """Notice a peer that has vanished: sent bytes without an answer, or no sign of life while nothing is sent."""
    transport = connection._transport
    peer: socket.socket | None = transport.get_extra_info("socket") if transport is not None else None
    if peer is None or peer.family not in (socket.AF_INET, socket.AF_INET6):
        return
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", 10),
        ("TCP_KEEPINTVL", 5),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", TCP_TIMEOUT_MS),
    ):
        option = getattr(socket, name, None)  # not every system has all of them
        if option is not None:
            peer.setsockopt(socket.IPPROTO_TCP, option, value)


async def disconnect(connection: PostgresConnection) -> None:
    """Close a connection in any state."""
    try:
        await connection.close(timeout=1.0)
    except (Exception, asyncio.CancelledError):
        connection.terminate()


async def check_server(connection: PostgresConnection) -> None:
    """Raise HostFault for a server that could lose acknowledged writes or that this adapter does not know, and
    StoreUnavailable for one that cannot be written to."""
    version = connection.get_server_version()
    if version.major not in VERSIONS:
        raise HostFault(
            f"the server is PostgreSQL {version.major}; this release supports {VERSIONS.start} to {VERSIONS.stop - 1}"
        )
    row = await connection.fetchrow(
        "SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit')"
    )
    fsync, pages, commit = row or ("", "", "")
    if fsync != "on" or pages != "on":
        raise HostFault(
            f"the server has fsync={fsync} and full_page_writes={pages}: a crash could lose runs that were "
            "acknowledged; turn both on"
        )
    if commit == "off":
        logger.warning("the server has synchronous_commit=off: a crash can lose the last commits it has acknowledged")


async def check_writable(connection: PostgresConnection) -> int:
    """The difference of the clocks in milliseconds: that of the server minus the own one.

    Raises StoreUnavailable if the server is read-only, or the clocks differ by more than MAX_SKEW_MS: deadlines and the
    order of events would be wrong.
    """
    before = time.time()
    row = await connection.fetchrow(
        "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, pg_is_in_recovery(), "
        "current_setting('transaction_read_only')"
    )
    now, standby, read_only = row or (0, True, "on")
    if standby or read_only == "on":
        raise StoreUnavailable("the server is a standby or read-only")
    skew = round(now - (before + time.time()) / 2 * 1000)
    if abs(skew) > MAX_SKEW_MS:
        raise StoreUnavailable(f"the clock of the server differs by {skew} ms from the clock of this machine")
    if abs(skew) > WARN_SKEW_MS:
        logger.warning("the clock of the server differs by %d ms from the clock of this machine", skew)
    return skew


REPEATABLE: Final[tuple[type[Exception], ...]] = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.ForeignKeyViolationError,
)
"""The transaction was rolled back because of another one, and can be repeated as it is."""
REFUSED_ROW: Final = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError)
"""The server does not accept the values of a row."""
UNIQUE_VIOLATION: Final[type[Exception]] = asyncpg.UniqueViolationError
DIVISION_BY_ZERO: Final[type[Exception]] = asyncpg.DivisionByZeroError
"""A statement that must not be committed ends itself with this error."""

_OUTAGES: Final[tuple[type[Exception], ...]] = (
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.LockNotAvailableError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.PostgresSystemError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
)
_DAMAGE: Final[tuple[type[Exception], ...]] = (
    asyncpg.DataCorruptedError,
    asyncpg.IndexCorruptedError,
    UnicodeDecodeError,
    msgspec.DecodeError,
)


def has_failed(connection: PostgresConnection, error: BaseException, sent: bool = True) -> bool:
    """Whether the statement was certainly not committed: the server has said so and the session is open, or an argument
    was refused before anything was `sent`."""
    if connection.is_closed():
        return False
    if isinstance(error, asyncpg.PostgresError | asyncpg.InterfaceError):
        return True
    return not sent and not isinstance(error, OSError)  # TimeoutError is one


def is_outage(error: BaseException) -> bool:
    """Whether the next write would fail in the same way: a full disk, a read-only server, a server that shuts down."""
    lone = (asyncpg.LockNotAvailableError, asyncpg.QueryCanceledError)
    return isinstance(error, _OUTAGES) and not isinstance(error, (*lone, *REPEATABLE))


def translate(error: Exception, sent: bool) -> Exception:
    """The error as one of the storage ports. `sent`: the connection was lost after a commit was sent."""
    if isinstance(error, StoreUnavailable | HostFault):
        return error
    text = type(error).__name__
    if sent:
        return OutcomeUnknown(f"the connection to the server was lost after a commit was sent: {text}")
    if isinstance(error, _DAMAGE):
        return StoreDamaged(f"the store has damaged data: {text}")
    if isinstance(error, asyncpg.PostgresError) and not isinstance(error, _OUTAGES):
        if isinstance(error, asyncpg.PostgresConnectionError):
            return StoreUnavailable(f"the connection to the server was lost: {text}")
        if isinstance(error, asyncpg.CharacterNotInRepertoireError | asyncpg.UntranslatableCharacterError):
            return HostFault("a text has the character U+0000, which PostgreSQL cannot store")
        return HostFault(f"a statement of the store failed: {text}: {error}")
    if isinstance(error, OSError | asyncpg.PostgresError | asyncpg.InterfaceError | asyncpg.InternalClientError):
        return StoreUnavailable(f"the store cannot be used: {text}")
    return HostFault(f"a call of the store failed: {text}: {error}")
