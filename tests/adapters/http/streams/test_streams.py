"""Server-sent events as a client sees them: modes, ends, cursors, batches, snapshots, keep-alives, JSON instead."""

from pathlib import Path

import pytest

from tests.live import CHUNKS, SEEDED_RUN, Host, Stream, dechunk, delays, frames, start_host, write_workflows
from tests.live.fixtures import KEEPALIVE_SETTINGS, QUICK_WORKFLOW
from weftwork.protocol.json import schema
from weftwork.protocol.wire.streams import UPDATE_TYPES

MODES = ("updates", "debug", "messages", "updates,messages", "values")


@pytest.fixture(scope="module")
def ended(host: Host) -> str:
    """A run of QUICK that is over."""
    run_id = host.create(QUICK_WORKFLOW)
    host.log(run_id)
    return run_id


@pytest.mark.parametrize("mode", MODES)
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
@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
@pytest.mark.parametrize("mode", ["bogus", "", "values,updates", "updates,bogus", "updates,", "VALUES"])
def test_a_mode_that_is_not_offered_is_refused_in_any_format(host: Host, ended: str, mode: str, accept: str) -> None:
    answer = host.call("GET", f"/v1/runs/{ended}/events?streamMode={mode}", headers={"Accept": accept})
    assert (answer.status, answer.document["error"]) == (400, "unsupported_stream_mode")
    assert answer.document["details"]["supported"] == ["updates", "values", "messages", "debug"]
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.rule("sse-11")
@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
@pytest.mark.parametrize("query", ["5001", "99999", "-1", "1.5", "", "x", "1e3", "%FF"])
def test_a_buffer_time_out_of_range_is_refused_in_any_format(host: Host, ended: str, query: str, accept: str) -> None:
    answer = host.call("GET", f"/v1/runs/{ended}/events?bufferMs={query}", headers={"Accept": accept})
    assert (answer.status, answer.document["error"]) == (400, "validation_error")


@pytest.mark.parametrize("last", ["abc", "-2", "1.25", "1,2", "0x1", "1 2", "٣", "9" * 17, "+1", "-1.5x"])
def test_an_id_that_no_frame_can_have_is_refused(host: Host, ended: str, last: str) -> None:
    header = last.encode().decode("latin-1")
    answer = host.call("GET", f"/v1/runs/{ended}/events", headers={"Last-Event-ID": header})
    assert (answer.status, answer.document["error"]) == (400, "validation_error")
    assert last not in answer.body.decode()


@pytest.mark.parametrize("mode", MODES)
def test_the_id_of_the_terminal_event_gives_an_empty_stream(host: Host, ended: str, mode: str) -> None:
    last = str(host.log(ended)[-1]["sequence"])
    assert host.stream(ended, f"?streamMode={mode}", last=last).finish() == b""


@pytest.mark.parametrize("mode", MODES)
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


@pytest.mark.parametrize("mode", ["updates", "debug", "messages", "updates,messages"])
@pytest.mark.parametrize("run", ["live", "over", "seeded"])
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


@pytest.mark.parametrize("mode", ["updates", "values"])
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
@pytest.mark.parametrize(
    ("accept", "is_json"),
    [
        ("application/json", True),
        ("application/json, text/plain", True),
        ("text/html, APPLICATION/JSON;q=0.9", True),
        ("application/json, text/event-stream", False),
        ("text/event-stream;q=0.1, application/json", False),
        ("*/*", False),
        ("text/html", False),
    ],
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
