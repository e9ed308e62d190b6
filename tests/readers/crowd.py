"""Many readers in one thread, each on a raw socket, with every byte they got."""

import contextlib
import errno
import resource
import selectors
import socket
import time
from collections.abc import Callable, Iterator

from tests.live import KEY

TIMEOUT_SECONDS = 120.0
OTHER_FILES = 256


class StreamReader:
    """One reader. `raw` is the wire from its status line on, `body` what the chunks say so far."""

    __slots__ = ("_read", "body", "connection", "is_closed", "is_complete", "raw")

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.raw = bytearray()
        self.body = bytearray()
        self.is_complete = False
        """The host ended the stream properly."""
        self.is_closed = False
        self._read = -1

    @property
    def status(self) -> int:
        return int(self.raw[9:12]) if len(self.raw) >= 12 else 0

    @property
    def shown(self) -> bytes:
        """The frames, without comments."""
        return bytes(self.body).replace(b": keepalive\n\n", b"")

    @property
    def last(self) -> str:
        """The id of the last frame that arrived whole; empty if none did."""
        end = self.body.rfind(b"\n\n")
        start = self.body.rfind(b"id: ", 0, end) if end > 0 else -1
        return self.body[start + 4 : self.body.index(b"\n", start)].decode() if start >= 0 else ""

    def take(self, data: bytes) -> None:
        if not data:
            self.is_closed = True
        self.raw += data
        if self._read < 0:
            head = self.raw.find(b"\r\n\r\n")
            if head < 0:
                return
            self._read = head + 4
        while not self.is_complete:
            line = self.raw.find(b"\r\n", self._read)
            if line < 0:
                return
            size = int(self.raw[self._read : line], 16)
            if len(self.raw) < line + 4 + size:
                return
            self.body += self.raw[line + 2 : line + 2 + size]
            self._read = line + 4 + size
            self.is_complete = size == 0


class StreamReaders:
    def __init__(self, port: int) -> None:
        self._port = port
        self._selector = selectors.DefaultSelector()
        self.clients: list[StreamReader] = []

    def add(self, path: str, last: str | None = None, room: int | None = None, key: str = KEY) -> None:
        """Ask for a stream; with so little room for what is not read."""
        connection = socket.socket()
        connection.setblocking(False)
        if room is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        assert connection.connect_ex(("127.0.0.1", self._port)) in (0, errno.EINPROGRESS)
        lines = [f"GET {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {key}", "Accept: text/event-stream"]
        lines += [f"Last-Event-ID: {last}"] if last else []
        client = StreamReader(connection)
        self.clients.append(client)
        request = "\r\n".join([*lines, "", ""]).encode()
        self._selector.register(connection, selectors.EVENT_WRITE, (client, request))

    def ask(self) -> None:
        """Return when every request is sent. Nothing is read."""
        end = time.monotonic() + TIMEOUT_SECONDS
        while asking := self._selector.get_map():
            for key, _ in self._selector.select(max(0.0, end - time.monotonic())):
                client, request = key.data
                client.connection.sendall(request)
                self._selector.unregister(client.connection)
            assert time.monotonic() < end, f"{len(asking)} of {len(self.clients)} could not ask"

    def read(self, done: Callable[[StreamReader], bool], only: list[StreamReader] | None = None) -> None:
        """Read until it is so for all of them, or for those named; those who have it are read no further."""
        waiting = {client.connection: client for client in only or self.clients if not done(client)}
        end = time.monotonic() + TIMEOUT_SECONDS
        with selectors.DefaultSelector() as selector:
            for connection in waiting:
                selector.register(connection, selectors.EVENT_READ)
            while waiting:
                for key, _ in selector.select(max(0.0, end - time.monotonic())):
                    client = waiting[key.fileobj]  # type: ignore[index]
                    client.take(_receive(client.connection))
                    if done(client) or client.is_closed:
                        assert done(client), f"a reader was left with {bytes(client.raw[-300:])!r}"
                        selector.unregister(client.connection)
                        del waiting[client.connection]
                assert time.monotonic() < end, f"{len(waiting)} of {len(self.clients)} still wait"

    def finish(self, only: list[StreamReader] | None = None) -> None:
        """Read every stream to its proper end."""
        self.read(lambda client: client.is_complete, only)

    def close(self) -> None:
        self._selector.close()
        for client in self.clients:
            client.connection.close()


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(2**20)
    except ConnectionError:
        return b""


@contextlib.contextmanager
def open_readers(
    port: int, count: int, path: str, last: Callable[[int], str | None] = lambda _: None, room: int | None = None
) -> Iterator[StreamReaders]:
    """So many readers who all have asked for the stream. `last` gives the cursor of each."""
    allow_files(count)
    crowd = StreamReaders(port)
    try:
        for at in range(count):
            crowd.add(path, last(at), room)
        crowd.ask()
        yield crowd
    finally:
        crowd.close()


def allow_files(count: int) -> None:
    """Let this process, and those it starts, have so many connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + OTHER_FILES
    assert hard == resource.RLIM_INFINITY or hard >= wanted, f"{wanted} open files are needed: raise `ulimit -Hn`"
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
