"""Bodies that never end: refused where they pass the cap, and held in no more memory than that."""

import contextlib
import selectors
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.harness.definitions import FULL
from tests.hostile.raw_http import (
    AUTH,
    HOST,
    POST,
    ReceivedAnswer,
    check_error,
    connect,
    parse,
    receive_answers,
    send_pieces,
)
from tests.live import Host, start_host
from tests.readers.process_stats import peak

CLIENTS = 200
CAP = 2**20 if FULL else 2**18
CHUNK = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
SPARE = 48 * 2**20
"""What the process itself may grow by while so many are served."""


class Pourer:
    """A client that sends without end and looks now and then whether it was answered."""

    def __init__(self, port: int, head: bytes) -> None:
        self.socket = connect(port)
        self.heard: list[ReceivedAnswer] = []
        self.sent = 0
        self._raw = b""
        self._left = memoryview(head)
        self.socket.setblocking(False)

    def go_on(self) -> bool:
        """Send and receive what can be; False when the host has ended it."""
        try:
            with contextlib.suppress(BlockingIOError):
                received = self.socket.recv(65_536)
                self._raw += received
                if not received:
                    return False
            sent = self.socket.send(self._left)
            self.sent += sent
            self._left = self._left[sent:] or memoryview(CHUNK)
        except BlockingIOError:
            return True
        except ConnectionError:
            return False
        return True

    def end(self) -> list[ReceivedAnswer]:
        self.socket.close()
        heard, rest = parse(self._raw)
        assert not rest
        return heard


def pour(port: int, head: bytes, count: int) -> list[Pourer]:
    """So many of them at once, each until it is cut."""
    clients = [Pourer(port, head) for _ in range(count)]
    with selectors.DefaultSelector() as waiting:
        for client in clients:
            waiting.register(client.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, client)
        while waiting.get_map():
            ready = waiting.select(15)
            assert ready, "the host neither takes nor answers"
            for key, _ in ready:
                if not key.data.go_on():
                    waiting.unregister(key.fileobj)
    return clients


@pytest.mark.slow
def test_two_hundred_endless_bodies_cost_what_they_may(tmp_path: Path) -> None:
    env = {"WEFTWORK_MAX_REQUEST_BODY_BYTES": str(CAP)}
    with start_host(tmp_path, "--conformance", store="memory", env=env) as host:
        before = peak(host)
        # Some are refused at their own cap, the others because of all bodies together.
        large, keyless = {"payload_too_large", "service_unavailable"}, {"unauthenticated"}
        for head, codes in ((POST, large), (POST.replace(AUTH, b""), keyless)):
            for client in pour(host.port, head + CHUNKED, CLIENTS):
                (heard,) = client.end()
                assert heard.document["error"] in codes
                # The cap, what is read on so that the answer is seen, and the buffers on the way.
                assert client.sent < 3 * CAP + 32 * 2**20
        grown = peak(host) - before
        assert grown <= CLIENTS * 2 * CAP + SPARE, f"{grown / 2**20:.0f} MiB"
        assert host.create("conformance-noop")


@pytest.mark.rule("wire-04")
@pytest.mark.parametrize("size", [*([1] if FULL else []), 128, 0x4000, 2**20])
def test_a_body_is_refused_where_it_passes_the_cap(host: Host, size: int) -> None:
    """Whatever the size of its chunks, and no later than a read beyond it."""
    chunk = b"%x\r\n" % size + b" " * size + b"\r\n"
    whole = chunk * (2**20 // size)
    with connect(host.port) as client:
        send_pieces(client, POST + CHUNKED, whole, b"1\r\n \r\n0\r\n\r\n")
        (heard,) = receive_answers(client)
    assert check_error(heard, 413, "payload_too_large") == {"maxRequestBodyBytes": 2**20}
    with connect(host.port) as client:
        send_pieces(client, POST + CHUNKED, whole, b"0\r\n\r\n")
        check_error(receive_answers(client, 1)[0], 400, "validation_error")


def test_a_body_nobody_asked_for_is_not_waited_for(host: Host) -> None:
    """On a path that takes none, and on one that is not there."""
    for path in (b"/health", b"/nothing"):
        with connect(host.port) as client:
            send_pieces(client, b"GET " + path + b" HTTP/1.1\r\n" + HOST + CHUNKED)
            client.shutdown(socket.SHUT_RD)
            sent: Any = 0
            with contextlib.suppress(ConnectionError):
                while sent < 64 * 2**20:
                    client.sendall(CHUNK)
                    sent += len(CHUNK)
            assert sent < 32 * 2**20
