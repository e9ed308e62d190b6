"""One connection without a socket: what it reads, holds and says when it must, byte by byte and second by second."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from tests.hostile.raw_http import HEALTH, HOST, parse
from weftwork.adapters.http.server import connection as module
from weftwork.adapters.http.server.connection import Connection
from weftwork.adapters.http.server.limits import ConnectionLimit
from weftwork.adapters.http.server.write_turns import WriteTurns


class Wire(asyncio.Transport):
    """A transport that keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.unsent = 0
        self.reading = True
        self.closed = self.aborted = self.ended = False

    def write(self, data: Any) -> None:
        self.written += data

    def write_eof(self) -> None:
        self.ended = True

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers /health at once, and everything else never."""
    if scope["path"] != "/health":
        await asyncio.get_running_loop().create_future()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def new_connection(wire: Wire, application: Any = app) -> Connection:
    config = uvicorn.Config(application, ws="none", lifespan="off", log_config=None, access_log=False)
    config.load()
    made = Connection(config, ServerState(), {}, limit=ConnectionLimit(10), turns=WriteTurns())
    made.connection_made(wire)
    return made


@pytest.fixture
async def line() -> AsyncIterator["Line"]:
    """A connection and its transport."""
    wire = Wire()
    made = new_connection(wire)
    yield made, wire
    for task in list(made.tasks):
        task.cancel()
    await asyncio.gather(*made.tasks, return_exceptions=True)


Line = tuple[Connection, Wire]


async def turn() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def statuses(wire: Wire) -> list[int]:
    return [heard.status for heard in parse(wire.written)[0]]


WAITS = b"GET /waits HTTP/1.1\r\n" + HOST + b"\r\n"


def post(size: int, extra: bytes = b"") -> bytes:
    return b"POST /waits HTTP/1.1\r\n" + HOST + extra + b"Content-Length: %d\r\n\r\n" % size


@pytest.mark.parametrize(("weighed", "answered"), [(True, [200, 400]), (False, [200, 200])])
async def test_a_large_head_is_refused_behind_another_request_as_well(
    line: Line, monkeypatch: pytest.MonkeyPatch, weighed: bool, answered: list[int]
) -> None:
    made, wire = line
    if not weighed:
        monkeypatch.setattr(Connection, "_check_head_size", lambda connection: None)
    made.data_received(HEALTH + b"GET /health HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 60_000)
    await turn()
    made.data_received(b"\r\n\r\n")
    await turn()
    assert statuses(wire) == answered


async def held(line: Line, bodies: int, size: int) -> int:
    """Bytes of bodies that a connection holds for requests which wait for their turn, when it stops reading."""
    made, wire = line
    made.data_received(WAITS)
    await turn()
    for _ in range(bodies):
        if wire.reading:
            made.data_received(post(size) + b"a" * size)
    assert not wire.reading
    return sum(len(cycle.body) for cycle, _ in made.pipeline)


async def test_the_bodies_of_waiting_requests_share_one_allowance(line: Line) -> None:
    assert await held(line, 8, 60_000) <= 2 * 65_536


async def test_without_it_each_of_them_would_have_its_own(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HIGH_WATER_LIMIT", 10**9)
    assert await held(line, 16, 60_000) > 4 * 65_536


async def test_a_refused_client_that_still_reads_gets_all_of_the_answers_before(line: Line) -> None:
    made, wire = line
    made.data_received(b"GARBAGE\r\n\r\n")
    wire.unsent = 100
    now = made.deadline + 0.1
    for _ in range(5):
        made.on_deadline(now)
        assert not wire.aborted
        now = made.deadline + 0.1
    wire.unsent = 0
    made.on_deadline(now)
    assert wire.aborted


async def test_one_that_never_reads_is_given_up(line: Line) -> None:
    made, wire = line
    made.data_received(b"GARBAGE\r\n\r\n")
    wire.unsent = 100
    made.on_deadline(made.loop.time() + 31)
    assert wire.aborted


@pytest.mark.parametrize(("expects", "answered"), [(b"Expect: 100-continue\r\n", []), (b"", [400])])
async def test_a_body_that_nobody_has_asked_for_is_not_late(line: Line, expects: bytes, answered: list[int]) -> None:
    made, wire = line
    made.data_received(post(10, expects))
    await turn()
    made.on_deadline(made.loop.time() + 60)
    await turn()
    assert statuses(wire) == answered


async def test_who_has_its_answer_gets_no_second_one_for_a_body_that_does_not_come(line: Line) -> None:
    made, wire = line
    made.data_received(b"GET /health HTTP/1.1\r\n" + HOST + b"Content-Length: 10\r\n\r\n")
    await turn()
    assert statuses(wire) == [200]
    made.on_deadline(made.loop.time() + 60)
    assert (statuses(wire), wire.closed) == ([200], True)
