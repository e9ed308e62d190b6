"""The base class of the ports on PostgreSQL, and helpers that turn a statement or a job into a method of a port.

A job is an async function of a session and the arguments of the method. A job of `reads` sees one snapshot; a job of
`writes` is one transaction.
"""

from collections.abc import Awaitable, Callable
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from weftwork.adapters.postgres.database.connection import PostgresConnection
from weftwork.adapters.postgres.database.pool import SessionPool

P = ParamSpec("P")
T = TypeVar("T")


class PostgresPort:
    def __init__(self, pool: SessionPool) -> None:
        self._pool = pool


Job = Callable[Concatenate[PostgresConnection, P], Awaitable[T]]
if TYPE_CHECKING:
    Method = Callable[Concatenate[PostgresPort, P], CoroutineType[Any, Any, T]]


def writes(job: Job[P, T]) -> "Method[P, T]":
    """A port method that runs the job in a transaction."""

    async def method(port: PostgresPort, *arguments: P.args, **named: P.kwargs) -> T:
        pool = port._pool  # pyright: ignore[reportPrivateUsage]
        return await pool.transact(lambda connection: job(connection, *arguments, **named))

    return method


def reads(job: Job[P, T]) -> "Method[P, T]":
    """A port method that runs a job whose statements must see the same commits."""

    async def method(port: PostgresPort, *arguments: P.args, **named: P.kwargs) -> T:
        pool = port._pool  # pyright: ignore[reportPrivateUsage]
        return await pool.snapshot(lambda connection: job(connection, *arguments, **named))

    return method


def reads_once(job: Job[P, T]) -> "Method[P, T]":
    """A port method that runs a job of a single statement."""

    async def method(port: PostgresPort, *arguments: P.args, **named: P.kwargs) -> T:
        pool = port._pool  # pyright: ignore[reportPrivateUsage]
        return await pool.single(lambda connection: job(connection, *arguments, **named))

    return method
