"""How much one answer may hold, how a stream meets a broken store, and when nobody listens any more."""

import asyncio
import json
import logging
from typing import Any

import pytest

from tests.live import KEY, InProcessHost, Stream, delays, echoes, frames, in_thread, open_in_process, open_listening
from tests.live.listening_host import until
from weftwork.adapters.http.response_writer import CHUNK_BYTES
from weftwork.adapters.http.sse import SseStream
from weftwork.engine.api import runs
from weftwork.engine.run.live_run import LiveRun
from weftwork.ports.storage.event_log import StoreUnavailable

LARGE = "x" * 400_000


async def _ended(inside: InProcessHost, workflow_id: str, **inputs: Any) -> str:
    """A run that is over; its last snapshot has been seen."""
    body = {"workflowId": workflow_id, "inputs": inputs}
    run_id = (await inside.call("POST", "/v1/runs", body)).document["runId"]
    await inside.call("GET", f"/v1/runs/{run_id}/events?streamMode=messages")
    return run_id


@pytest.mark.rule("poll-02")
@pytest.mark.parametrize(
    ("path", "json_only"),
    [("/events?fromSequence={next}", True), ("/events/poll?lastSequence={last}", False)],
    ids=["page", "poll"],
)
async def test_an_answer_ends_at_its_cap_and_goes_on_from_there(path: str, json_only: bool) -> None:
    async with open_in_process(echoes("large", 30)) as inside:
        run_id = await _ended(inside, "large", text=LARGE)
        seen: list[int] = []
        answers = 0
        while True:
            last = seen[-1] if seen else -1
            url = f"/v1/runs/{run_id}{path.format(next=last + 1, last=last)}"
            headers = {"accept": "application/json"} if json_only else {}
            answer = await inside.call("GET", url, headers=headers)
            answers += 1
            assert len(answer.body) < runs.PAGE_BYTES + 2 * len(LARGE)
            page = answer.document
            seen += [event["sequence"] for event in page["events"]]
            if page["isComplete"]:
                break
            assert page["events"]
            assert json_only or (page["isTerminal"], page["lastEventSeq"]) == (False, seen[-1])
        assert seen == list(range(len(seen)))
        assert answers > 2


async def test_a_page_of_small_events_is_as_long_as_asked_for() -> None:
    async with open_in_process(echoes("many", 300)) as inside:
        run_id = await _ended(inside, "many", text="x")
        path = f"/v1/runs/{run_id}/events"
        page = (await inside.call("GET", path, headers={"accept": "application/json"})).document
        assert (len(page["events"]), page["isComplete"]) == (602, True)
        page = (await inside.call("GET", f"{path}?limit=500", headers={"accept": "application/json"})).document
        assert (len(page["events"]), page["isComplete"]) == (500, False)
        assert len((await inside.call("GET", f"{path}/poll")).document["events"]) == 602


@pytest.mark.parametrize("query", ["debug", "debug&bufferMs=50", "values"])
async def test_a_stream_is_sent_in_small_pieces(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    honest = SseStream.run

    async def watched(pump: Any) -> None:
        send = pump._request.writer._send

        async def counted(message: Any) -> None:
            sent.append(len(message.get("body", b"")))
            await send(message)

        pump._request.writer._send = counted
        await honest(pump)

    async with open_in_process(echoes("large", 4)) as inside:
        run_id = await _ended(inside, "large", text=LARGE)
        monkeypatch.setattr(SseStream, "run", watched)
        shown = frames((await inside.call("GET", f"/v1/runs/{run_id}/events?streamMode={query}")).body)
        found = [frame.document for frame in shown]
        if "bufferMs" in query:
            assert len(shown) > 2, "a batch is bounded as well"
            found = [item for batch in found for item in batch]
        if query == "values":
            assert len(found) == 1
        else:
            assert [event["sequence"] for event in found] == list(range(10))
    assert max(sent) == CHUNK_BYTES


@pytest.mark.parametrize("fault", [StoreUnavailable("disk I/O error"), RuntimeError("a bug")])
@pytest.mark.parametrize("query", ["debug", "values", "debug&bufferMs=5"])
async def test_a_fault_in_the_middle_ends_a_stream_that_can_be_resumed(
    caplog: pytest.LogCaptureFixture, query: str, fault: Exception
) -> None:
    async with open_listening(delays("long", 15_000)) as served:
        run_id = await served.create("long")
        path = f"/v1/runs/{run_id}/events?streamMode={query}"
        stream = await in_thread(Stream, await in_thread(served.ask, path))
        await in_thread(stream.read_until, lambda body: body.endswith(b"\n\n"))
        honest = served.log.read

        async def fail(*_: Any) -> Any:
            raise fault

        served.log.read = fail
        for run in list(served.host._feeds._feeds):
            served.host._feeds.invalidate(run)
        shown = frames(await in_thread(stream.finish))
        served.log.read = honest
        again = await in_thread(Stream, await in_thread(served.ask, f"{path}&lastEventId={shown[-1].id}"))
        await served.in_process.call("POST", f"/v1/runs/{run_id}/cancel", {})
        assert b"cancelled" in await in_thread(again.finish)
    (said,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    expected = isinstance(fault, StoreUnavailable)
    assert (said.levelname, said.getMessage()) == (
        ("WARNING", "store unavailable") if expected else ("ERROR", "request failed")
    )
    assert bool(said.exc_info) is not expected


async def test_an_outage_is_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with open_in_process() as inside:
        queries: Any = inside.host._store.queries

        async def fail(*_: Any) -> Any:
            raise StoreUnavailable("disk I/O error")

        queries.list_runs = fail
        answer = await inside.call("GET", "/v1/runs")
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    (said,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert (said.getMessage(), vars(said)["reason"], said.exc_info) == ("store unavailable", "disk I/O error", None)


@pytest.mark.rule("poll-01")
async def test_a_poll_ends_with_its_client(caplog: pytest.LogCaptureFixture) -> None:
    async with open_listening(delays("long", 15_000)) as served:
        run_id = await served.create("long")
        path = f"/v1/runs/{run_id}/events/poll?lastSequence=1&timeout=60"
        with await in_thread(served.ask, path):
            await until(lambda: served.readers == 1, "the poll")
        await until(lambda: served.readers == 0, "the poll to end")
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def _unable(live: LiveRun) -> None:
    raise RuntimeError("not now")


@pytest.mark.rule("sse-09")
async def test_a_run_without_events_has_no_snapshot_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = asyncio.Event()
    honest = SseStream._stream_snapshots

    async def watched(pump: Any, reader: Any, last: int) -> None:
        assert last == -1
        begun.set()
        await honest(pump, reader, last)

    monkeypatch.setattr(SseStream, "_stream_snapshots", watched)

    async def work() -> tuple[list[Any], dict[int, Any]]:
        async with open_in_process(delays("short", 0, 10, 0)) as inside:
            store: Any = inside.host._store.log
            append, gate = store.append, asyncio.Event()

            async def held(*arguments: Any) -> Any:
                await gate.wait()
                return await append(*arguments)

            store.append = held
            # As after an error at its creation: the run is there, and its first step is still to come.
            monkeypatch.setattr(LiveRun, "prepare", _unable)
            run_id = (await inside.call("POST", "/v1/runs", {"workflowId": "short"})).document["runId"]
            assert (await inside.call("GET", f"/v1/runs/{run_id}")).document["status"] == "pending"
            path = f"/v1/runs/{run_id}/events"
            stream = asyncio.create_task(inside.call("GET", f"{path}?streamMode=values"))
            await begun.wait()
            gate.set()
            shown = frames((await stream).body)
            log = (await inside.call("GET", path, headers={"accept": "application/json"})).document["events"]
            return [frame.document for frame in shown], {event["sequence"]: event for event in log}

    shown, log = await work()
    assert shown
    for document in shown:
        assert document["timestamp"] == log[document["sequence"]]["timestamp"]
    assert shown[-1]["sequence"] == max(log)


@pytest.mark.parametrize("name", ["Authorization", "Content-Type", "Host", "Idempotency-Key", "Last-Event-ID"])
def test_a_header_that_says_two_things_is_refused(host: Any, name: str) -> None:
    values = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", "Host": "x"}
    lines = [f"{key}: {value}" for key, value in values.items()] + ["Idempotency-Key: k", "Last-Event-ID: 1"]
    body = json.dumps({"workflowId": "conformance-noop"})
    for extra, status in ((f"X-{name}: a", 201), (next(line for line in lines if line.startswith(name)), 400)):
        head = ["POST /v1/runs HTTP/1.1", *lines, extra, f"Content-Length: {len(body)}", "", body]
        connection = host.connect()
        connection.sendall("\r\n".join(head).encode())
        with connection:
            stream = Stream(connection)
            assert stream.status == status
            while len(stream.raw) < int(stream.headers["content-length"]):
                stream.raw += connection.recv(65_536)
        if status == 400:
            document = json.loads(stream.raw)
            assert (document["error"], document["details"]["parameter"]) == ("validation_error", name)


@pytest.mark.parametrize("upgrade", ["websocket", "h2c"])
def test_an_upgrade_is_not_taken_up_and_nobody_is_bothered(host: Any, upgrade: str) -> None:
    before = host.errors
    with host.connect() as connection:
        head = f"GET /health HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: {upgrade}\r\n\r\n"
        for _ in range(2):
            connection.sendall(head.encode())
            stream = Stream(connection)
            assert stream.status == 200
            while len(stream.raw) < int(stream.headers["content-length"]):
                stream.raw += connection.recv(65_536)
    assert "pgrade" not in host.errors.removeprefix(before)
