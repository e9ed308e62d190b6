"""Polling and listing: pages, filters, waits; how much one answer may hold, and streams over a broken store."""

import asyncio
import json
from typing import Any

import pytest

from tests.harness.cases import each_case, problems
from tests.live import (
    KEY,
    OTHER_KEY,
    TEST_KEY,
    Host,
    InProcessHost,
    Stream,
    delays,
    echoes,
    frames,
    in_thread,
    open_in_process,
    open_listening,
)
from tests.live.fixtures import QUICK_WORKFLOW
from tests.live.listening_host import until
from weftwork.adapters.http.response_writer import CHUNK_BYTES
from weftwork.adapters.http.sse import SseStream
from weftwork.engine.api import runs
from weftwork.engine.run.live_run import LiveRun
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.json import schema

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
    (said,) = problems(caplog.records)
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
    (said,) = problems(caplog.records)
    assert (said.getMessage(), vars(said)["reason"], said.exc_info) == ("store unavailable", "disk I/O error", None)


@pytest.mark.rule("poll-01")
async def test_a_poll_ends_with_its_client(caplog: pytest.LogCaptureFixture) -> None:
    async with open_listening(delays("long", 15_000)) as served:
        run_id = await served.create("long")
        path = f"/v1/runs/{run_id}/events/poll?lastSequence=1&timeout=60"
        with await in_thread(served.ask, path):
            await until(lambda: served.readers == 1, "the poll")
        await until(lambda: served.readers == 0, "the poll to end")
    assert problems(caplog.records) == []


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


@each_case("name", "Authorization", "Content-Type", "Host", "Idempotency-Key", "Last-Event-ID")
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


@each_case("upgrade", "websocket", "h2c")
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


@pytest.fixture(scope="module")
def ended(host: Host) -> str:
    run_id = host.create(QUICK_WORKFLOW)
    host.log(run_id)
    return run_id


def poll(host: Host, run_id: str, query: str = "") -> dict[str, Any]:
    answer = host.call("GET", f"/v1/runs/{run_id}/events/poll{query}")
    assert answer.status == 200, answer.body
    assert schema.check("poll", answer.document) == []
    return answer.document


@pytest.mark.rule("poll-01", "poll-02", "evt-04")
def test_a_poll_returns_what_lies_after_its_cursor(host: Host, ended: str) -> None:
    log = poll(host, ended)["events"]
    assert [event["sequence"] for event in log] == list(range(len(log)))
    assert [log[0]["type"], log[-1]["type"]] == ["run.started", "run.completed"]
    for event in log:
        assert schema.check("run-event", event) == []
        assert schema.check_payload(event["type"], event["payload"]) == []
    for name in ("lastSequence", "since"):
        for last in range(-1, len(log)):
            page = poll(host, ended, f"?{name}={last}")
            assert page["events"] == log[last + 1 :]
            assert (page["isComplete"], page["isTerminal"], page["runStatus"]) == (True, True, "completed")
            assert page["lastEventSeq"] == len(log) - 1
            assert page["runId"] == ended


@pytest.mark.rule("poll-01")
def test_a_cursor_past_the_end_is_no_error(host: Host, ended: str) -> None:
    page = poll(host, ended, "?lastSequence=1000000&timeout=60")
    assert (page["events"], page["isComplete"], page["lastEventSeq"]) == ([], True, 1000000)
    largest = 2**53 - 1
    page = poll(host, ended, f"?lastSequence={largest}&timeout=60")
    assert (page["events"], page["isComplete"], page["lastEventSeq"]) == ([], True, largest)
    answer = host.call("GET", f"/v1/runs/{ended}/events?fromSequence={largest}")
    assert answer.document == {"events": [], "isComplete": True}


@pytest.mark.rule("poll-01", "poll-02")
def test_a_poll_waits_for_news_of_a_live_run(host: Host) -> None:
    run_id = host.create("conformance-cancellable")
    first = poll(host, run_id, "?timeout=60")
    assert [event["type"] for event in first["events"]] == ["run.started", "node.started"]
    assert (first["isComplete"], first["isTerminal"], first["runStatus"]) == (False, False, "running")
    quiet = poll(host, run_id, "?lastSequence=1&timeout=1")
    assert (quiet["events"], quiet["isComplete"], quiet["lastEventSeq"]) == ([], False, 1)
    host.call("POST", f"/v1/runs/{run_id}/cancel")
    log = host.log(run_id)
    last = poll(host, run_id, "?lastSequence=1&timeout=60")
    assert last["events"] == log[2:]
    assert (last["isComplete"], last["runStatus"]) == (True, "cancelled")


@pytest.mark.rule("poll-01", "poll-02")
def test_a_loop_of_polls_reads_a_live_run_once_and_ends(host: Host) -> None:
    run_id = host.create(QUICK_WORKFLOW)
    log = host.log(run_id)
    assert [event["sequence"] for event in log] == list(range(len(log)))
    assert log == poll(host, run_id)["events"]
    assert [event["type"] for event in log].count("run.completed") == 1
    assert log[-1]["type"] == "run.completed"


@pytest.mark.rule("poll-01")
@each_case(
    "query",
    *"""
    lastSequence=x lastSequence=-2 lastSequence=1.5 lastSequence= lastSequence=9007199254740992
    lastSequence=99999999999999999999 lastSequence=%F0%9F%A7%B6 since=y timeout=0 timeout=61 timeout=soon
    """.split(),
)
def test_a_parameter_out_of_its_range_is_named(host: Host, ended: str, query: str) -> None:
    answer = host.call("GET", f"/v1/runs/{ended}/events/poll?{query}")
    assert (answer.status, answer.document["error"]) == (400, "validation_error")
    assert answer.document["details"]["parameter"] == query.partition("=")[0]


def listed(host: Host, query: str, key: str = KEY) -> dict[str, Any]:
    answer = host.call("GET", f"/v1/runs{query}", key=key)
    assert answer.status == 200, answer.body
    assert schema.check("run-list", answer.document) == []
    return answer.document


@pytest.mark.rule("run-05")
def test_a_listing_is_paged_newest_first_and_leaves_out_what_is_not_there(host: Host) -> None:
    made = [host.create("conformance-noop", tags=["paged", f"at-{at % 2}"]) for at in range(7)]
    for run_id in made:
        host.log(run_id)
    found: list[str] = []
    query = "?tag=paged&limit=3"
    while True:
        page = listed(host, query)
        assert len(page["runs"]) <= 3
        assert "null" not in str(page)
        assert None not in [value for run in page["runs"] for value in run.values()]
        found += [run["runId"] for run in page["runs"]]
        if "nextCursor" not in page:
            break
        query = f"?tag=paged&limit=3&cursor={page['nextCursor']}"
    assert found == made[::-1]
    even = listed(host, "?tag=paged&tag=at-0&status=completed&workflowId=conformance-noop")["runs"]
    assert [run["runId"] for run in even] == made[::2][::-1]
    assert listed(host, "?tag=paged&status=failed,cancelled")["runs"] == []
    assert listed(host, "?tag=paged&workflowId=another")["runs"] == []


@pytest.mark.rule("run-05")
def test_a_failed_run_is_listed_with_its_error(host: Host) -> None:
    run_id = host.create("conformance-failure", tags=["sad"])
    host.log(run_id)
    (run,) = listed(host, "?tag=sad")["runs"]
    assert (run["runId"], run["status"], run["error"]["code"]) == (run_id, "failed", "conformance_test_failure")


def test_nobody_reads_a_listing_with_the_cursor_of_another(host: Host) -> None:
    for _ in range(2):
        host.create("conformance-noop", tags=["mine"])
    cursor = listed(host, "?tag=mine&limit=1")["nextCursor"]
    for key in (OTHER_KEY, TEST_KEY):
        stolen = host.call("GET", f"/v1/runs?cursor={cursor}", key=key)
        made_up = host.call("GET", f"/v1/runs?cursor={cursor[::-1]}", key=key)
        assert (stolen.status, stolen.body) == (made_up.status, made_up.body) == (200, b'{"runs":[]}')


@each_case(
    "query, parameter",
    ("status=done", "status"),
    ("status=", "status"),
    ("status=completed,", "status"),
    ("limit=0", "limit"),
    ("limit=201", "limit"),
    ("limit=ten", "limit"),
    ("limit=5&limit=-5", "limit"),
    ("cursor=", "cursor"),
    ("cursor=%00", "cursor"),
    ("cursor=../x", "cursor"),
)
def test_a_listing_refuses_what_it_does_not_understand(host: Host, query: str, parameter: str) -> None:
    answer = host.call("GET", f"/v1/runs?{query}")
    assert (answer.status, answer.document["error"]) == (400, "validation_error")
    assert answer.document["details"]["parameter"] == parameter
