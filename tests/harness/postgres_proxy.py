"""A proxy between hosts and a PostgreSQL server, which cuts connections, delays them, and loses answers.

A connection is known by its application name, which its first message contains. The proxy reads the messages of the
client one by one, so that it can act exactly after a commit was sent: at an Execute of a prepared statement that is a
transaction of its own, or at a COMMIT. The connections must not be encrypted.
"""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Self, TypeVar

from tests.live import until

T = TypeVar("T")

SECONDS: Final = 20
SSL_REQUEST: Final = 80877103
EXECUTE, QUERY = b"E", b"Q"
CHUNK: Final = 1 << 16

WRITER, EXECUTOR, POOL = "weftwork writer", "weftwork executor", "weftwork"
"""The application names of the connections of a host."""


@dataclass(eq=False)
class _Rule:
    """Lose the answer to one of the next commits on connections of this name: after `skip` others."""

    name: str
    skip: int
    at_once: bool
    """Reset the connection when the commit was sent, instead of when its answer arrives."""
    is_done: threading.Event = field(default_factory=threading.Event)


@dataclass(eq=False)
class _Link:
    """One connection of a client, and that to the server."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    name: str = ""
    rule: _Rule | None = None
    """The rule by which the next answer of the server is lost, and the connection with it."""

    def reset(self) -> None:
        _reset(self.client)
        _reset(self.server)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection so that the peer gets a reset instead of an end."""
    peer: socket.socket = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class PostgresProxy:
    """Listens on a port of its own while it is used as a context. Its methods may be called by any thread."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._rules: list[_Rule] = []
        self._silent: set[str] = set()
        self._delays: dict[str, float] = {}
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self._listener = self._call(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self.port = self._listener.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SECONDS)
        self._loop.close()

    def cut(self, name: str) -> None:
        """Reset all connections of this name; new ones are accepted. Fails if there is none within some seconds."""
        until(lambda: self._call(self._reset(name)), f"a connection {name!r}", SECONDS)

    def lose_answer(self, name: str, skip: int = 0, at_once: bool = False) -> threading.Event:
        """Let a commit reach the server, and reset the connection before the answer. The event is set when that has
        happened."""
        rule = _Rule(name, skip, at_once)
        self._call(self._add_rule(rule))
        return rule.is_done

    @contextlib.contextmanager
    def silence(self, name: str) -> Iterator[None]:
        """Within it, nothing reaches either side on the connections of this name, and nothing is closed."""
        self._silent.add(name)
        try:
            yield
        finally:
            self._silent.discard(name)
            # What was held back is not complete: a connection that was silent cannot go on.
            self._call(self._reset(name))

    @contextlib.contextmanager
    def delay(self, name: str, seconds: float) -> Iterator[None]:
        """Within it, each answer on the connections of this name arrives so much later."""
        self._delays[name] = seconds
        try:
            yield
        finally:
            del self._delays[name]

    def count(self, name: str) -> int:
        """The number of open connections of this name."""
        return self._call(self._count(name))

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(SECONDS)

    async def _count(self, name: str) -> int:
        return sum(link.name == name for link in self._links)

    async def _add_rule(self, rule: _Rule) -> None:
        self._rules.append(rule)

    async def _reset(self, name: str) -> bool:
        found = [link for link in self._links if link.name == name]
        for link in found:
            link.reset()
        return bool(found)

    async def _close(self) -> None:
        self._listener.close()
        for link in list(self._links):
            link.reset()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self._server_port)
        except OSError:
            writer.transport.abort()
            return
        link = _Link(writer, to_server)
        self._links.add(link)
        both = [asyncio.create_task(self._send(reader, link)), asyncio.create_task(self._answer(from_server, link))]
        self._tasks |= {*both}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._links.discard(link)
            self._tasks -= {*both}
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)
            link.client.close()
            link.server.close()

    async def _send(self, reader: asyncio.StreamReader, link: _Link) -> None:
        """Pass on what the client says, message by message."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await self._begin(reader, link)
            while True:
                head = await reader.readexactly(5)
                body = await reader.readexactly(int.from_bytes(head[1:]) - 4)
                await self._wait_while_silent(link)
                rule = self._due(link, head[:1], body)
                if rule is not None and not rule.at_once:
                    link.rule = rule
                link.server.write(head + body)
                if rule is not None and rule.at_once:
                    if head[:1] == EXECUTE:
                        # It is complete only with the Sync behind it.
                        link.server.write(await reader.readexactly(5))
                    # The connection to the server ends in an orderly way: what was sent to it arrives.
                    _reset(link.client)
                    rule.is_done.set()
                    return
                await link.server.drain()

    async def _begin(self, reader: asyncio.StreamReader, link: _Link) -> None:
        """Pass on the messages before the session, which have no type. The last of them has the application name."""
        while True:
            length = await reader.readexactly(4)
            body = await reader.readexactly(int.from_bytes(length) - 4)
            if int.from_bytes(body[:4]) != SSL_REQUEST:
                words = body[4:].decode("utf-8", "replace").split("\0")
                link.name = dict(zip(words[::2], words[1::2], strict=False)).get("application_name", "")
            await self._wait_while_silent(link)
            link.server.write(length + body)
            if link.name:
                return

    async def _answer(self, reader: asyncio.StreamReader, link: _Link) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                if link.rule is not None:
                    link.reset()
                    link.rule.is_done.set()
                    return
                if delay := self._delays.get(link.name):
                    await asyncio.sleep(delay)
                await self._wait_while_silent(link)
                link.client.write(data)
                await link.client.drain()

    async def _wait_while_silent(self, link: _Link) -> None:
        while link.name in self._silent:
            await asyncio.sleep(0.01)

    def _due(self, link: _Link, kind: bytes, body: bytes) -> _Rule | None:
        if kind != EXECUTE and not (kind == QUERY and body.startswith(b"COMMIT")):
            return None
        if kind == EXECUTE and link.name != WRITER:
            return None  # part of a transaction, or a read
        for rule in self._rules:
            if rule.name == link.name:
                rule.skip -= 1
                if rule.skip < 0:
                    self._rules.remove(rule)
                    return rule
        return None
