"""Clients that take their time: to begin, to finish a head, to send a body, to ask again."""

import asyncio
import contextlib
import selectors
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from tests.harness.definitions import FULL
from tests.hostile.raw_http import (
    AUTH,
    BODY,
    HEALTH,
    HOST,
    POST,
    ReceivedAnswer,
    check_error,
    connect,
    receive_answers,
    send_pieces,
)
from tests.live import ListeningHost, delays, in_thread, start_host
from tests.live.host import TIMEOUT_SECONDS
from tests.live.listening_host import until, with_host
from weftwork.adapters.http.server import connection, http_server
from weftwork.adapters.http.server import connection as ending

CLIENTS = 2000
SHORT = 0.3
"""Seconds; what stands for each limit in these tests."""
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """All limits short, and looked at often."""
    monkeypatch.setattr(http_server, "DEADLINE_CHECK_TICKS", 1)
    monkeypatch.setattr(ending, "FLUSH_SECONDS", SHORT)
    for name in ("HEAD_SECONDS", "BODY_GRACE_SECONDS", "IDLE_SECONDS"):
        monkeypatch.setattr(connection, name, SHORT)


FLOWS = (delays("long", 600_000), delays("conformance-noop", 0))
HOST_WITH_FLOWS = with_host(*FLOWS)


def ended(served: ListeningHost, *pieces: bytes) -> list[ReceivedAnswer]:
    """What a client hears who sends this and then nothing more."""
    with connect(served.port) as client:
        send_pieces(client, *pieces)
        return receive_answers(client)


def dripping(served: ListeningHost, start: bytes, drop: bytes) -> list[ReceivedAnswer]:
    """What a client hears who goes on sending, a little at a time."""
    with connect(served.port) as client:
        send_pieces(client, start)
        first = receive_answers(client, 1) if start == HEALTH else []
        client.settimeout(0.03)
        for _ in range(4000):
            send_pieces(client, drop)
            try:
                client.recv(1, socket.MSG_PEEK)
            except TimeoutError:
                continue
            except ConnectionError:
                pass
            break
        else:
            raise AssertionError("the host goes on listening")
        client.settimeout(TIMEOUT_SECONDS)
        return first + receive_answers(client)


SILENT: dict[str, bytes] = {
    "nothing": b"",
    "line ends": b"\r\n\r\n",
    "idle": HEALTH,
}
HALF: dict[str, bytes] = {
    "a letter": b"G",
    "a line": b"GET /health HTTP/1.1\r\n",
    "all but the end": HEALTH[:-2],
    "all but a byte": HEALTH[:-1],
}
BODIES: dict[str, bytes] = {
    "length": POST + b"Content-Length: 33\r\n\r\n",
    "some of it": POST + b"Content-Length: 33\r\n\r\n" + BODY[:-1],
    "chunks": CHUNKED,
    "half a chunk": CHUNKED + b"5\r\nab",
    "an endless chunk": CHUNKED + b"ffffffffffffffff\r\n" + b" " * 20,
    "the last chunk": CHUNKED + b"21\r\n" + BODY + b"\r\n0\r\n",
}


async def all_ended(served: ListeningHost, cases: dict[str, tuple[bytes, ...]]) -> dict[str, list[ReceivedAnswer]]:
    """What each of these clients hears, all at the same time."""
    heard = await asyncio.gather(*(in_thread(ended, served, *pieces) for pieces in cases.values()))
    await until(lambda: not served.requests, "the requests to end")
    return dict(zip(cases, heard, strict=True))


@HOST_WITH_FLOWS
@pytest.mark.usefixtures("limits")
async def test_who_asks_nothing_is_let_go_without_a_word(served: ListeningHost) -> None:
    heard = await all_ended(served, {name: (sent,) for name, sent in SILENT.items()})
    found = {name: [each.status for each in answers] for name, answers in heard.items()}
    assert found == {"nothing": [], "line ends": [], "idle": [200]}


@HOST_WITH_FLOWS
@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("before", [(), (HEALTH,)], ids=["first", "second"])
async def test_a_head_has_its_time(served: ListeningHost, before: tuple[bytes, ...]) -> None:
    for name, answers in (await all_ended(served, {name: (*before, sent) for name, sent in HALF.items()})).items():
        *earlier, last = answers
        assert [each.status for each in earlier] == [200] * len(before), name
        check_error(last, 400, "validation_error")
        assert "seconds" in last.document["message"], name


@HOST_WITH_FLOWS
@pytest.mark.usefixtures("limits")
async def test_a_body_has_its_time(served: ListeningHost) -> None:
    for name, (last,) in (await all_ended(served, {name: (sent,) for name, sent in BODIES.items()})).items():
        check_error(last, 400, "validation_error")
        assert "bytes per second" in last.document["message"], name


DROPS: dict[str, tuple[bytes, bytes, list[int]]] = {
    "headers": (HEALTH[:-2], b"a: b\r\n", [400]),
    "target": (b"GET /", b"a", [400]),
    "chunks": (CHUNKED, b"1\r\n \r\n", [400]),
    "line ends behind": (HEALTH, b"\r\n", [200]),
    "line ends before": (b"", b"\r\n", []),
}


@HOST_WITH_FLOWS
@pytest.mark.usefixtures("limits")
async def test_a_drop_now_and_then_buys_no_time(served: ListeningHost) -> None:
    clients = [in_thread(dripping, served, start, drop) for start, drop, _ in DROPS.values()]
    found = [[each.status for each in heard] for heard in await asyncio.gather(*clients)]
    assert found == [statuses for *_, statuses in DROPS.values()]


@HOST_WITH_FLOWS
@pytest.mark.usefixtures("limits")
def test_a_body_that_is_fast_enough_may_take_long(served: ListeningHost) -> None:
    """Three times as long as the grace, with as much of it at once as pays for the pauses of a busy machine."""
    with connect(served.port) as client:
        send_pieces(client, POST + b"Content-Length: 8192\r\n\r\n" + BODY.ljust(4096))
        left = 4096
        end = time.monotonic() + 3 * SHORT
        while time.monotonic() < end and left > 512:
            send_pieces(client, b" " * 64)
            left -= 64
            time.sleep(0.03)
        send_pieces(client, b" " * left)
        assert [each.status for each in receive_answers(client, 1)] == [201]


@HOST_WITH_FLOWS
@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("path", ["/events?streamMode=debug", "/events/poll?lastSequence=1&timeout=2"])
async def test_who_waits_for_us_has_all_the_time(served: ListeningHost, path: str) -> None:
    """Far beyond every limit, with half a request behind it that is not read yet."""

    run_id = await served.create("long")
    first = f"GET /v1/runs/{run_id}{path} HTTP/1.1\r\n".encode() + HOST + AUTH + b"\r\n"
    body = BODY.ljust(900_000)
    large = POST + b"Content-Length: %d\r\n\r\n" % len(body) + body
    with await in_thread(connect, served.port) as client:
        sending = asyncio.create_task(in_thread(send_pieces, client, first, large, HEALTH))
        await until(lambda: served.readers == 1, "the reader")
        until_then = asyncio.get_running_loop().time() + 4 * SHORT
        await until(lambda: asyncio.get_running_loop().time() > until_then, "a while")
        assert served.readers == 1
        if "poll" not in path:
            await served.in_process.call("POST", f"/v1/runs/{run_id}/cancel", {})
        heard = await in_thread(receive_answers, client, 3)
        await sending
        assert [each.status for each in heard] == [200, 201, 200]


STAYING = {"silent": b"", "head": HEALTH[:-2], "body": BODIES["some of it"], "idle": HEALTH}


def stays(served: ListeningHost, sent: bytes, seconds: float) -> bool:
    with connect(served.port) as client:
        send_pieces(client, sent)
        if sent == HEALTH:
            receive_answers(client, 1)
        client.settimeout(seconds)
        try:
            client.recv(1)
        except TimeoutError:
            return True
        return False


@HOST_WITH_FLOWS
@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("watched", [True, False])
async def test_without_the_watchdog_they_would_all_stay(
    served: ListeningHost, watched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not watched:
        monkeypatch.setattr(http_server._UvicornServer, "_check_deadlines", lambda self: None)

    seconds = TIMEOUT_SECONDS if watched else 4 * SHORT
    assert await asyncio.gather(*(in_thread(stays, served, sent, seconds) for sent in STAYING.values())) == [
        not watched
    ] * len(STAYING)


@HOST_WITH_FLOWS
@pytest.mark.usefixtures("limits")
async def test_a_watchdog_that_stumbles_goes_on(
    served: ListeningHost, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def stumble(self: Any, now: float) -> None:
        self.deadline = now + 60
        raise RuntimeError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(connection.Connection, "on_deadline", stumble)
        first = await in_thread(ended, served, HEALTH[:-2])
    assert (first, await in_thread(stays, served, HEALTH[:-2], TIMEOUT_SECONDS)) == ([], False)
    (said,) = [record for record in caplog.records if record.exc_info]
    assert said.getMessage() == "connection could not be closed"


if FULL:

    def test_hundreds_of_slow_clients_are_gone_when_their_time_is_up(tmp_path: Path) -> None:
        """The real limits in a real process: half heads, slow bodies, silence; others are served all the while."""
        kinds = [b"", HEALTH[:-2], b"GET /", CHUNKED, BODIES["some of it"]]
        with start_host(tmp_path, "--conformance", store="memory") as host, selectors.DefaultSelector() as waiting:
            begun = time.monotonic()
            for at in range(CLIENTS):
                client = connect(host.port)
                send_pieces(client, kinds[at % len(kinds)])
                client.setblocking(False)
                waiting.register(client, selectors.EVENT_READ)
            asked = 0
            while waiting.get_map() and time.monotonic() < begun + TIMEOUT_SECONDS:
                assert host.call("GET", "/health").status == 200
                assert host.call("POST", "/v1/runs", {"workflowId": "conformance-noop"}).status == 201
                asked += 1
                for key, _ in waiting.select(0.05):
                    one: Any = key.fileobj
                    with contextlib.suppress(ConnectionError):
                        if one.recv(65_536):
                            continue
                    waiting.unregister(one)
                    one.close()
            left = len(waiting.get_map())
            for key in list(waiting.get_map().values()):
                waiting.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]
            assert left == 0
            assert asked > 1
