"""Requests that two readers could understand in two ways: one verdict each, and never a second request in them."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.cases import check_cases
from tests.hostile.malformed_requests import CASES, SMUGGLED, MalformedRequest
from tests.hostile.raw_http import HEALTH, POST, ReceivedAnswer, connect, exchange, receive_answers, send_pieces
from tests.live import Host, ListeningHost, delays, in_thread, open_listening
from weftwork.adapters.http.host_errors import raw_error_response
from weftwork.adapters.http.server import limits
from weftwork.adapters.http.server.connection import Connection


@pytest.fixture(scope="module", autouse=True)
def nothing_was_smuggled(host: Host) -> Iterator[None]:
    assert len(SMUGGLED.partition(b"\r\n\r\n")[2]) == 54
    yield
    assert host.call("GET", "/v1/runs?tag=smuggled!").document == {"runs": []}
    assert "request failed" not in host.errors
    assert "uvicorn" not in host.errors


def verdict(port: int, case: MalformedRequest, pieces: list[bytes]) -> list[ReceivedAnswer]:
    """What came back, once it is shown that the connection is over, or in step with its client."""
    if not case.keeps_connection:
        return exchange(port, *pieces)
    with connect(port) as connection:
        send_pieces(connection, *pieces)
        heard = receive_answers(connection, len(case.statuses))
        send_pieces(connection, HEALTH)
        (last,) = receive_answers(connection, 1)
        assert last.document == {"status": "ok"}
    return heard


def check(heard: list[ReceivedAnswer], case: MalformedRequest) -> None:
    assert tuple(each.status for each in heard) == case.statuses, heard
    for each in heard:
        if each.status >= 400:
            assert "error" in each.document
            assert each.headers["content-type"] == "application/json"
    if heard and not case.keeps_connection:
        assert heard[-1].headers["connection"] == "close"


def test_the_table_is_long_enough() -> None:
    assert len(CASES) >= 120
    assert sum(1 for case in CASES.values() if 400 in case.statuses) >= 90


@pytest.mark.parametrize("way", ["at once", "byte by byte"])
def test_an_odd_request_has_one_verdict(host: Host, way: str) -> None:
    def check_verdict(name: str) -> None:
        case = CASES[name]
        pieces = [case.send] if way == "at once" else [case.send[at : at + 1] for at in range(len(case.send))]
        check(verdict(host.port, case, pieces), case)
        assert host.call("GET", "/health").status == 200
        assert host.process.poll() is None

    check_cases(CASES, check_verdict)


def served(work: Any, *arguments: Any) -> Any:
    """Run a blocking client against a host inside this process, whose guards can be taken away."""

    async def run() -> Any:
        async with open_listening(delays("conformance-noop", 0)) as one:
            return await in_thread(work, one, *arguments)

    return asyncio.run(run())


def statuses(one: ListeningHost, sent: bytes) -> tuple[int, ...]:
    return tuple(each.status for each in exchange(one.port, sent))


@pytest.mark.parametrize(
    "name",
    [
        "header: no Host",
        "target: absolute",
        "target: fragment",
        "coding: gzip before",
        "coding: of HTTP/1.0",
        "line: HTTP/2.0",
        "header: 101 headers",
    ],
)
def test_without_the_look_at_heads_these_would_be_taken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = CASES[name].send + b"GARBAGE\r\n\r\n"
    assert served(statuses, sent) == (400,)
    monkeypatch.setattr(limits, "head_problem", lambda *_: None)
    assert served(statuses, sent) != (400,)


def test_without_the_look_at_upgrades_a_body_would_be_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"
    sent = POST + upgrade + b"Content-Length: %d\r\n\r\n" % len(HEALTH) + HEALTH + b"GARBAGE\r\n\r\n"
    assert served(statuses, sent) == (400,)
    honest = limits.head_problem
    monkeypatch.setattr(
        limits, "head_problem", lambda target, headers, version, _: honest(target, headers, version, False)
    )
    assert 200 in served(statuses, sent)


def test_trailers_that_were_headers_would_be_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "chunk: trailer that would be a header"

    def answer(one: ListeningHost) -> str:
        with connect(one.port) as connection:
            send_pieces(connection, CASES[name].send)
            return receive_answers(connection, 1)[0].document.get("message", "")

    assert served(answer) == ""
    honest = Connection.on_headers_complete

    def keep(self: Any) -> None:
        headers = self.headers
        honest(self)
        self.headers = headers

    monkeypatch.setattr(Connection, "on_headers_complete", keep)
    assert "X-Dedup" in served(answer)


def test_an_error_that_is_said_at_once_would_be_taken_for_another_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = CASES["pipeline: junk behind"].send
    assert served(statuses, sent) == (200, 400)

    def at_once(self: Any, fault: Any) -> None:
        self.send_final(raw_error_response(fault))

    monkeypatch.setattr(Connection, "reject", at_once)
    assert served(statuses, sent)[0] == 400
