"""Server-sent events as a client sees them: modes, ends, cursors, batches, snapshots, keep-alives, cut streams."""

import asyncio
import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.live import (
    CHUNKS,
    SEEDED_RUN,
    Frame,
    Host,
    Stream,
    dechunk,
    delays,
    frames,
    open_in_process,
    seed_messages,
    start_host,
    write_workflows,
)
from tests.live.fixtures import KEEPALIVE_SETTINGS, QUICK_WORKFLOW
from weftwork.protocol.json import schema
from weftwork.protocol.wire import streams
from weftwork.protocol.wire.streams import UPDATE_TYPES

MODES = ("updates", "debug", "messages", "updates,messages", "values")


@pytest.fixture(scope="module")
def ended(host: Host) -> str:
    """A run of QUICK that is over."""
    run_id = host.create(QUICK_WORKFLOW)
    host.log(run_id)
    return run_id


@each_case("mode", *MODES)
def test_a_stream_has_its_headers_and_ends_with_the_run(host: Host, mode: str) -> None:
    stream = host.stream(host.create(QUICK_WORKFLOW), f"?streamMode={mode}")
    assert stream.status == 200
    assert stream.headers["content-type"] == "text/event-stream"
    assert stream.headers["cache-control"] == "no-cache"
    assert "traceparent" in stream.headers
    stream.finish()


def test_a_connection_is_used_again_after_a_stream(host: Host, ended: str) -> None:
    first = host.stream(ended)
    first.read_until(lambda body: b"run.completed" in body and dechunk(first.raw)[1])
    with first.connection as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert Stream(connection).status == 200


def test_updates_is_the_default_and_shows_its_types_in_order(host: Host) -> None:
    run_id = host.create(QUICK_WORKFLOW)
    shown = host.stream(run_id).frames()
    wanted = [event for event in host.log(run_id) if event["type"] in UPDATE_TYPES]
    assert [frame.document for frame in shown] == wanted
    assert [(frame.id, frame.event) for frame in shown] == [(str(e["sequence"]), e["type"]) for e in wanted]
    assert [shown[0].event, shown[-1].event] == ["run.started", "run.completed"]


def test_debug_shows_every_event_of_the_log(host: Host) -> None:
    run_id = host.create(QUICK_WORKFLOW)
    shown = host.stream(run_id, "?streamMode=debug").frames()
    assert [frame.document for frame in shown] == host.log(run_id)
    assert [frame.id for frame in shown] == [str(at) for at in range(len(shown))]


def test_messages_shows_chunks_and_nothing_else(host: Host, ended: str) -> None:
    shown = host.stream(SEEDED_RUN, "?streamMode=messages").frames()
    assert {frame.event for frame in shown} == {"ai.message.chunk"}
    assert [frame.document["chunk"] for frame in shown] == list(CHUNKS)
    assert [frame.document["isLast"] for frame in shown] == [False] * (len(CHUNKS) - 1) + [True]
    assert all(frame.document["payload"]["chunk"] == frame.document["chunk"] for frame in shown)
    assert host.stream(ended, "?streamMode=messages").frames() == []


def test_two_modes_are_their_union_in_the_order_of_the_log(host: Host) -> None:
    both = host.stream(SEEDED_RUN, "?streamMode=updates,messages").frames()
    single = [host.stream(SEEDED_RUN, f"?streamMode={mode}").frames() for mode in ("updates", "messages")]
    assert both == sorted([*single[0], *single[1]], key=lambda frame: int(frame.id))


@pytest.mark.rule("sse-11")
@each_case("accept", "text/event-stream", "application/json")
@each_case("mode", "bogus", "", "values,updates", "updates,bogus", "updates,", "VALUES")
def test_a_mode_that_is_not_offered_is_refused_in_any_format(host: Host, ended: str, mode: str, accept: str) -> None:
    answer = host.call("GET", f"/v1/runs/{ended}/events?streamMode={mode}", headers={"Accept": accept})
    assert (answer.status, answer.document["error"]) == (400, "unsupported_stream_mode")
    assert answer.document["details"]["supported"] == ["updates", "values", "messages", "debug"]
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.rule("sse-11")
@each_case("accept", "text/event-stream", "application/json")
@each_case("query", "5001", "99999", "-1", "1.5", "", "x", "1e3", "%FF")
def test_a_buffer_time_out_of_range_is_refused_in_any_format(host: Host, ended: str, query: str, accept: str) -> None:
    answer = host.call("GET", f"/v1/runs/{ended}/events?bufferMs={query}", headers={"Accept": accept})
    assert (answer.status, answer.document["error"]) == (400, "validation_error")


@each_case("last", "abc", "-2", "1.25", "1,2", "0x1", "1 2", "٣", "9" * 17, "+1", "-1.5x")
def test_an_id_that_no_frame_can_have_is_refused(host: Host, ended: str, last: str) -> None:
    header = last.encode().decode("latin-1")
    answer = host.call("GET", f"/v1/runs/{ended}/events", headers={"Last-Event-ID": header})
    assert (answer.status, answer.document["error"]) == (400, "validation_error")
    assert last not in answer.body.decode()


@each_case("mode", *MODES)
def test_the_id_of_the_terminal_event_gives_an_empty_stream(host: Host, ended: str, mode: str) -> None:
    last = str(host.log(ended)[-1]["sequence"])
    assert host.stream(ended, f"?streamMode={mode}", last=last).finish() == b""


@each_case("mode", *MODES)
def test_an_id_beyond_the_log_of_an_ended_run_gives_an_empty_stream(host: Host, ended: str, mode: str) -> None:
    assert host.stream(ended, f"?streamMode={mode}", last="123456789").finish() == b""


def test_an_id_beyond_the_log_of_a_live_run_shows_nothing_older_and_ends_with_it(host: Host) -> None:
    run_id = host.create(QUICK_WORKFLOW)
    assert frames(host.stream(run_id, "?streamMode=debug", last="123456789").finish()) == []
    page = host.call("GET", f"/v1/runs/{host.create(QUICK_WORKFLOW)}/events/poll?lastSequence=123456789").document
    assert (page["events"], page["lastEventSeq"]) == ([], 123456789)


def test_minus_one_is_the_start_and_the_query_names_a_cursor_too(host: Host, ended: str) -> None:
    whole = host.stream(ended).finish()
    assert host.stream(ended, last="-1").finish() == whole
    assert host.stream(ended, last="").finish() == whole
    assert host.stream(ended, "?lastEventId=2").finish() == host.stream(ended, last="2").finish() != whole
    assert host.stream(ended, "?lastEventId=6", last="2").finish() == host.stream(ended, last="2").finish()


@each_case("mode", "updates", "debug", "messages", "updates,messages")
@each_case("run", "live", "over", "seeded")
def test_batches_hold_what_the_plain_stream_holds(host: Host, ended: str, mode: str, run: str) -> None:
    run_id = {"live": host.create(QUICK_WORKFLOW) if run == "live" else "", "over": ended, "seeded": SEEDED_RUN}[run]
    batches = host.stream(run_id, f"?streamMode={mode}&bufferMs=100").frames()
    plain = host.stream(run_id, f"?streamMode={mode}").frames()
    assert {frame.event for frame in batches} <= {"batch"}
    assert [item for frame in batches for item in frame.document] == [frame.document for frame in plain]
    ids = [frame.id for frame in plain]
    assert all(frame.document for frame in batches)
    assert [frame.id for frame in batches] == sorted({frame.id for frame in batches}, key=ids.index)
    assert [frame.id for frame in batches][-1:] == ids[-1:]


@pytest.mark.scenario("stream-modes-buffer")
def test_a_terminal_event_does_not_wait_for_the_buffer(host: Host) -> None:
    run_id = host.create(QUICK_WORKFLOW)
    with host.stream(run_id, "?bufferMs=5000").connection as quick:
        quick.settimeout(4)
        received = b""
        while chunk := quick.recv(65_536):
            received += chunk
            if received.endswith(b"\r\n0\r\n\r\n"):
                break
    assert b"run.completed" in received


def test_a_buffer_time_of_zero_makes_no_batches(host: Host, ended: str) -> None:
    assert host.stream(ended, "?bufferMs=0").finish() == host.stream(ended).finish()


def test_values_starts_with_a_snapshot_and_ends_with_the_last_one(host: Host) -> None:
    run_id = host.create("conformance-cancellable")
    stream = host.stream(run_id, "?streamMode=values")
    stream.read_until(lambda body: len(frames(body)) == 1)
    host.call("POST", f"/v1/runs/{run_id}/cancel")
    shown = stream.frames()
    assert {frame.event for frame in shown} == {"state.snapshot"}
    for frame in shown:
        assert schema.check("run-snapshot", frame.document["payload"]) == []
        assert frame.document["sequence"] == int(frame.id)
        assert frame.document["payload"].items() <= frame.document.items()
    ids = [int(frame.id) for frame in shown]
    assert ids == sorted(set(ids))
    assert len(shown) >= 2
    assert shown[-1].document["payload"] == host.snapshot(run_id)
    assert (shown[0].document["status"], shown[-1].document["status"]) == ("running", "cancelled")


def test_values_resumes_with_a_fresh_snapshot(host: Host, ended: str) -> None:
    (only,) = host.stream(ended, "?streamMode=values").frames()
    assert only.document["payload"] == host.snapshot(ended)
    assert host.stream(ended, "?streamMode=values", last="3").frames() == [only]


@each_case("mode", "updates", "values")
def test_a_quiet_stream_is_kept_alive(host: Host, mode: str) -> None:
    run_id = host.create("conformance-cancellable", inputs={"delayMs": 30000})
    stream = host.stream(run_id, f"?streamMode={mode}")
    body = stream.read_until(lambda body: body.count(b": keepalive\n\n") >= 3)
    assert len(frames(body)) == 1
    host.call("POST", f"/v1/runs/{run_id}/cancel")
    assert stream.frames()[-1].event == ("state.snapshot" if mode == "values" else "run.cancelled")


def test_events_that_a_reader_is_not_shown_do_not_keep_it_waiting(tmp_path: Path) -> None:
    workflows = write_workflows(tmp_path / "workflows", delays("hasty", *[100] * 8))
    with start_host(tmp_path, "--workflows", workflows, store="memory", env=KEEPALIVE_SETTINGS) as other:
        body = other.stream(other.create("hasty"), "?streamMode=messages").finish()
    assert set(body.split(b"\n\n")) == {b": keepalive", b""}


@pytest.mark.rule("sse-12")
@each_case(
    "accept, is_json",
    ("application/json", True),
    ("application/json, text/plain", True),
    ("text/html, APPLICATION/JSON;q=0.9", True),
    ("application/json, text/event-stream", False),
    ("text/event-stream;q=0.1, application/json", False),
    ("*/*", False),
    ("text/html", False),
)
def test_json_is_for_those_who_accept_no_stream(host: Host, ended: str, accept: str, is_json: bool) -> None:
    answer = host.call("GET", f"/v1/runs/{ended}/events", headers={"Accept": accept})
    assert answer.headers["content-type"] == ("application/json" if is_json else "text/event-stream")
    if is_json:
        assert answer.document == {"events": host.log(ended), "isComplete": True}


def test_the_json_form_pages_by_sequence(host: Host, ended: str) -> None:
    log = host.log(ended)
    path = f"/v1/runs/{ended}/events"
    for first in range(len(log) + 2):
        answer = host.call("GET", f"{path}?fromSequence={first}&limit=3").document
        assert schema.check("event-list", answer) == []
        assert answer == {"events": log[first : first + 3], "isComplete": first + 3 >= len(log)}
    for query in ("fromSequence=-1", "fromSequence=x", "limit=0", "limit=10001", "limit=", "fromSequence=1.0"):
        answer = host.call("GET", f"{path}?{query}")
        assert (answer.status, answer.document["details"]["parameter"]) == (400, query.split("=")[0])


def test_the_json_form_of_a_live_run_does_not_wait(host: Host) -> None:
    run_id = host.create("conformance-cancellable")
    answer = host.call("GET", f"/v1/runs/{run_id}/events").document
    assert answer["isComplete"] is False
    assert [event["type"] for event in answer["events"]] == ["run.started", "node.started"]
    host.call("POST", f"/v1/runs/{run_id}/cancel")


RESUMED_MODES = ("updates", "debug", "messages", "updates,messages")

FULL = os.environ.get("WEFTWORK_PROOF") == "full"
EXAMPLES = 5000 if FULL else 60
LIVE_RUNS = 200 if FULL else 8


class Reader:
    """Reads a stream in pieces, each from after the last frame that arrived whole."""

    def __init__(self, run_id: str, mode: str) -> None:
        self.run_id = run_id
        self.query = f"?streamMode={mode}"
        self.got: list[Frame] = []

    @property
    def last(self) -> str | None:
        return self.got[-1].id if self.got else None

    def cut(self, host: Host, size: int, by_query: bool = False) -> None:
        """Read so many bytes of the wire and drop the connection."""
        if by_query and self.last is not None:
            stream = host.stream(self.run_id, f"{self.query}&lastEventId={self.last}")
        else:
            stream = host.stream(self.run_id, self.query, self.last)
        self.got += frames(stream.read(size))

    def finish(self, host: Host) -> bytes:
        self.got += host.stream(self.run_id, self.query, self.last).frames()
        return b"".join(frame.raw for frame in self.got)


@pytest.mark.rule("sse-06", "sse-07", "sse-08")
@settings(max_examples=EXAMPLES, deadline=None)
@given(
    mode=st.sampled_from(RESUMED_MODES),
    cuts=st.lists(st.integers(1, 2600), min_size=1, max_size=4),
    by_query=st.booleans(),
)
def test_cuts_at_any_byte_leave_no_trace(host: Host, mode: str, cuts: list[int], by_query: bool) -> None:
    whole = host.stream(SEEDED_RUN, f"?streamMode={mode}").finish()
    reader = Reader(SEEDED_RUN, mode)
    for size in cuts:
        reader.cut(host, size, by_query)
    assert reader.finish(host) == whole


@pytest.mark.rule("sse-06")
@each_case("mode", *RESUMED_MODES)
def test_every_id_resumes_exactly_after_it(host: Host, mode: str) -> None:
    shown = host.stream(SEEDED_RUN, f"?streamMode={mode}").frames()
    for at, frame in enumerate(shown):
        assert host.stream(SEEDED_RUN, f"?streamMode={mode}", frame.id).frames() == shown[at + 1 :]


def test_cuts_of_a_live_run_leave_no_trace(host: Host) -> None:
    def follow(seed: int) -> None:
        chance = random.Random(seed)
        mode = chance.choice(RESUMED_MODES)
        run_id = host.create(QUICK_WORKFLOW)
        witness = host.stream(run_id, f"?streamMode={mode}")
        reader = Reader(run_id, mode)
        while len(reader.got) < 6 and mode != "messages":
            reader.cut(host, chance.randint(1, 900), chance.random() < 0.5)
        whole = b"".join(frame.raw for frame in witness.frames())
        assert reader.finish(host) == whole
        assert b"".join(frame.raw for frame in host.stream(run_id, f"?streamMode={mode}").frames()) == whole

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(follow, range(LIVE_RUNS)))


@settings(max_examples=EXAMPLES // 4, deadline=None)
@given(mode=st.sampled_from(RESUMED_MODES), size=st.integers(1, 2600), buffer_ms=st.sampled_from([1, 50, 5000]))
def test_a_cut_batch_comes_again_whole(host: Host, mode: str, size: int, buffer_ms: int) -> None:
    query = f"?streamMode={mode}&bufferMs={buffer_ms}"
    before = frames(host.stream(SEEDED_RUN, query).read(size))
    after = host.stream(SEEDED_RUN, query, before[-1].id if before else None).frames()
    plain = host.stream(SEEDED_RUN, f"?streamMode={mode}").frames()
    read = [item for frame in [*before, *after] for item in frame.document]
    assert read == [frame.document for frame in plain]


@pytest.mark.parametrize("end", [Host.stop, Host.kill])
def test_a_restart_between_two_cuts_leaves_no_trace(tmp_path: Path, end: Callable[[Host], Any]) -> None:
    seed_messages(tmp_path / "data")
    workflows = write_workflows(tmp_path / "workflows", delays("long", 0, 20, 600, 10, 0, 20))
    readers: list[Reader] = []
    with start_host(tmp_path, "--workflows", workflows) as host:
        live = host.create("long")
        readers += [Reader(run_id, mode) for run_id in (live, SEEDED_RUN) for mode in RESUMED_MODES]
        watch = host.stream(live)
        with watch.connection:
            watch.read_until(lambda body: b"n1" in body)
        for at, reader in enumerate(readers):
            if reader.run_id == SEEDED_RUN:
                reader.cut(host, 500 + 97 * at)
            elif reader.query.partition("=")[2] != "messages":
                reader.cut(host, 450 + 41 * at)
        end(host)
    with start_host(tmp_path) as host:
        for at, reader in enumerate(readers):
            if reader.run_id == SEEDED_RUN:
                reader.cut(host, 300 + 89 * at)
            whole = reader.finish(host)
            stream = host.stream(reader.run_id, reader.query).frames()
            assert b"".join(frame.raw for frame in stream) == whole
        assert host.snapshot(live)["status"] == "completed"


@pytest.mark.rule("sse-06")
def test_the_proof_sees_a_cursor_that_is_off_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read() -> tuple[list[Frame], list[Frame]]:
        async with open_in_process(delays("short", 0, 0)) as inside:
            run_id = (await inside.call("POST", "/v1/runs", {"workflowId": "short"})).document["runId"]
            path = f"/v1/runs/{run_id}/events?streamMode=debug"
            whole = frames((await inside.call("GET", path)).body)
            rest = frames((await inside.call("GET", path, headers={"last-event-id": whole[2].id})).body)
            return whole, [*whole[:3], *rest]

    whole, pieced = asyncio.run(read())
    assert whole == pieced
    assert len(whole) == 6
    honest = streams.parse_cursor
    for shift in (-1, 1):
        monkeypatch.setattr(streams, "parse_cursor", lambda text, by=shift: _moved(honest(text), by))
        whole, pieced = asyncio.run(read())
        assert whole != pieced


def _moved(cursor: streams.Cursor, by: int) -> streams.Cursor:
    return cursor if cursor.sequence < 0 else streams.Cursor(cursor.sequence + by, cursor.chunk)
