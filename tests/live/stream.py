"""Server-sent events on a raw socket, to the byte."""

import json
import socket
from collections.abc import Callable
from typing import Any, NamedTuple


class Frame(NamedTuple):
    """One server-sent event; `raw` is all of its bytes. The id is empty if it has none."""

    id: str
    event: str
    data: bytes
    raw: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.data)


def frames(body: bytes) -> list[Frame]:
    """The complete frames, without comments. Every line must be a field that we send."""
    found: list[Frame] = []
    for block in body.split(b"\n\n")[:-1]:
        if not block.startswith(b":"):
            fields = dict(line.split(b": ", 1) for line in block.split(b"\n"))
            assert list(fields) in ([b"id", b"event", b"data"], [b"event", b"data"]), block
            name = fields.get(b"id", b"").decode()
            found.append(Frame(name, fields[b"event"].decode(), fields[b"data"], block + b"\n\n"))
    return found


def dechunk(raw: bytes) -> tuple[bytes, bool]:
    """The body so far, and whether its end was announced."""
    body = b""
    while True:
        size, line_end, raw = raw.partition(b"\r\n")
        if not line_end or not size:
            return body, False
        length = int(size, 16)
        if length == 0:
            return body, raw.startswith(b"\r\n")
        body += raw[:length]
        if len(raw) < length + 2:
            return body, False
        raw = raw[length + 2 :]


class Stream:
    """One response on a raw socket, read as far as asked."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._receive(65_536)
        head, _, self.raw = received.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
        self.closed = False

    def _receive(self, size: int) -> bytes:
        data = self.connection.recv(size)
        assert data, "the connection ended early"
        return data

    def read(self, size: int) -> bytes:
        """The body as known after `size` bytes of the wire, or fewer if it ends before; the connection is dropped."""
        with self.connection:
            while len(self.raw) < size and not dechunk(self.raw)[1]:
                self.raw += self._receive(size - len(self.raw))
        return dechunk(self.raw[:size])[0]

    def read_until(self, seen: Callable[[bytes], bool]) -> bytes:
        """The body once it satisfies `seen`; the connection stays."""
        while not seen(body := dechunk(self.raw)[0]):
            self.raw += self._receive(65_536)
        return body

    def finish(self) -> bytes:
        """The whole body; fails unless the host ended it properly."""
        with self.connection:
            while not dechunk(self.raw)[1]:
                self.raw += self._receive(65_536)
        return dechunk(self.raw)[0]

    def frames(self) -> list[Frame]:
        return frames(self.finish())
