"""Several requests on one connection: each in its turn, and everybody is told when the client goes away."""

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tests.hostile.raw_http import AUTH, BODY, HEALTH, HOST, POST, connect, receive_answers, send_pieces
from tests.live import ListeningHost, Stream, delays, in_thread
from tests.live.host import TIMEOUT_SECONDS
from tests.live.listening_host import until, with_host
from weftwork.adapters.http.server.connection import Connection

FLOWS = (delays("long", 600_000), delays("conformance-noop", 0))
HOST_WITH_FLOWS = with_host(*FLOWS)


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\n".encode() + HOST + AUTH + b"\r\n"


async def leave_a_stream(served: ListeningHost, patience: float = TIMEOUT_SECONDS / 2) -> bool:
    """Whether the reader of a stream is gone once its client is, who had asked for something else already."""
    run_id = await served.create("long")
    with await in_thread(connect, served.port) as connection:
        await in_thread(send_pieces, connection, get(f"/v1/runs/{run_id}/events") + HEALTH)
        await until(lambda: served.readers == 1, "the stream")
        await in_thread(Stream, connection)
    try:
        await until(lambda: served.readers == 0, "the reader to go", patience)
    except AssertionError:
        await served.in_process.call("POST", f"/v1/runs/{run_id}/cancel", {})
        await until(lambda: served.readers == 0, "the run to end")
        return False
    return True


@HOST_WITH_FLOWS
async def test_a_stream_ends_with_its_client_whatever_waits_behind_it(served: ListeningHost) -> None:
    assert await leave_a_stream(served)


@HOST_WITH_FLOWS
async def test_when_only_the_newest_request_is_told_a_stream_stays(
    served: ListeningHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "connection_lost", HttpToolsProtocol.connection_lost)
    assert not await leave_a_stream(served, patience=2)


@HOST_WITH_FLOWS
@pytest.mark.parametrize(
    "bad", [b"GARBAGE\r\n\r\n", b"GET /health HTTP/1.1\r\n\r\n", POST + b"Content-Length: x\r\n\r\n"]
)
async def test_a_stream_goes_on_to_its_end_before_a_bad_request_is_refused(served: ListeningHost, bad: bytes) -> None:
    run_id = await served.create("long")
    with await in_thread(connect, served.port) as connection:
        await in_thread(send_pieces, connection, get(f"/v1/runs/{run_id}/events?streamMode=debug"))
        await until(lambda: served.readers == 1, "the stream")
        await in_thread(send_pieces, connection, bad + HEALTH)
        await served.in_process.call("POST", f"/v1/runs/{run_id}/cancel", {})
        stream, refusal = await in_thread(receive_answers, connection)
    assert b"run.cancelled" in stream.body
    assert (refusal.status, refusal.document["error"]) == (400, "validation_error")


@HOST_WITH_FLOWS
async def test_a_torn_body_ends_its_request_and_no_other(served: ListeningHost) -> None:
    """The first request waits for its body, which turns out to be none; nothing of it is left behind."""
    with await in_thread(connect, served.port) as connection:
        await in_thread(send_pieces, connection, POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{")
        await until(lambda: len(served.requests) == 1, "the request")
        await in_thread(send_pieces, connection, b"\r\n\r\n\r\n", b"zz\r\n" * 3)
        assert [each.status for each in await in_thread(receive_answers, connection)] == [400]
    await until(lambda: not served.requests, "the request to end")


@HOST_WITH_FLOWS
async def test_answers_come_in_the_order_of_the_requests(served: ListeningHost) -> None:
    """The first waits for news that never come, the others could be answered at once."""

    run_id = await served.create("long")
    first = get(f"/v1/runs/{run_id}/events/poll?lastSequence=1&timeout=1")
    second = POST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    with await in_thread(connect, served.port) as connection:
        await in_thread(send_pieces, connection, first + second + get("/v1/runs/nowhere") + HEALTH)
        assert [each.status for each in await in_thread(receive_answers, connection, 4)] == [200, 201, 404, 200]
