"""The base class of the ports on one SQLite file, and helpers that turn a job into a method of a port."""

from collections.abc import Callable
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from weftwork.adapters.sqlite.database.connection import SqliteConnection
from weftwork.adapters.sqlite.database.reader import SqliteReaders
from weftwork.adapters.sqlite.database.writer import SqliteWriter

P = ParamSpec("P")
T = TypeVar("T")


class SqlitePort:
    """`_write` runs a job in a transaction of the writer, `_read` runs one on a reader."""

    def __init__(self, writer: SqliteWriter, readers: SqliteReaders) -> None:
        self._write = writer.submit
        self._read = readers.submit


Job = Callable[Concatenate[SqliteConnection, P], T]
if TYPE_CHECKING:
    Method = Callable[Concatenate[SqlitePort, P], CoroutineType[Any, Any, T]]


def writes(job: Job[P, T]) -> "Method[P, T]":
    """A port method that runs the job in a transaction of the writer."""

    async def method(port: SqlitePort, *arguments: P.args, **named: P.kwargs) -> T:
        return await port._write(job, *arguments, **named)  # pyright: ignore[reportPrivateUsage]

    return method


def reads(job: Job[P, T]) -> "Method[P, T]":
    """A port method that runs the job on a reader."""

    async def method(port: SqlitePort, *arguments: P.args, **named: P.kwargs) -> T:
        return await port._read(job, *arguments, **named)  # pyright: ignore[reportPrivateUsage]

    return method
