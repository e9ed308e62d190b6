"""Raw bytes to a host and whole answers back, for clients that break the rules of HTTP."""

import contextlib
import re
import socket
from typing import Any

from tests.live import KEY, Answer, dechunk
from weftwork.protocol.json import schema

WAIT = 120.0
HOST = b"Host: x\r\n"
AUTH = b"Authorization: Bearer " + KEY.encode() + b"\r\n"
HEALTH = b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"
BODY = b'{"workflowId":"conformance-noop"}'
POST = b"POST /v1/runs HTTP/1.1\r\n" + HOST + AUTH + b"Content-Type: application/json\r\n"

_HEAD = re.compile(rb"HTTP/1\.1 (\d{3}) [^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n")


ReceivedAnswer = Answer
"""One answer on the wire."""


def parse(raw: bytes) -> tuple[list[ReceivedAnswer], bytes]:
    """The whole answers at the start of what was received, and the rest."""
    found: list[ReceivedAnswer] = []
    while (match := _HEAD.match(raw)) is not None:
        lines = match[2].decode("latin-1").split("\r\n")[:-1]
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        after = raw[match.end() :]
        if match[1] == b"100" or match[1] == b"304":
            size, body = 0, b""
        elif "transfer-encoding" in headers:
            body, ended = dechunk(after)
            if not ended:
                break
            size = after.index(b"0\r\n\r\n") + 5
        else:
            size = int(headers["content-length"])
            body = after[:size]
            if len(body) < size:
                break
        found.append(ReceivedAnswer(int(match[1]), headers, body))
        raw = after[size:]
    return found, raw


def receive_answers(connection: socket.socket, count: int | None = None) -> list[ReceivedAnswer]:
    """So many answers, or all until the host closes. Whatever is not a whole answer fails."""
    raw = b""
    while True:
        found, rest = parse(raw)
        if count is not None and len(found) >= count:
            assert not rest, rest[:200]
            return found
        try:
            received = connection.recv(65_536)
        except ConnectionResetError:
            received = b""
        if not received:
            assert not rest, rest[:200]
            assert count is None, f"closed after {[each.status for each in found]}"
            return found
        raw += received


def send_pieces(connection: socket.socket, *pieces: bytes) -> None:
    """Send the pieces one by one, as far as the host lets us."""
    with contextlib.suppress(ConnectionError):
        for piece in pieces:
            connection.sendall(piece)


def connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=WAIT)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def exchange(port: int, *pieces: bytes) -> list[ReceivedAnswer]:
    """Everything that the host answers on a connection of its own, which it must close."""
    with connect(port) as connection:
        send_pieces(connection, *pieces)
        return receive_answers(connection)


def check_error(heard: ReceivedAnswer, status: int, code: str) -> dict[str, Any]:
    """Check an error document, and give its details."""
    assert (heard.status, heard.document["error"]) == (status, code), heard
    assert heard.headers["content-type"] == "application/json"
    assert schema.check("error-envelope", heard.document) == []
    details = heard.document.get("details", {})
    assert heard.headers.get("retry-after") == (str(details["retryAfter"]) if "retryAfter" in details else None)
    return details
