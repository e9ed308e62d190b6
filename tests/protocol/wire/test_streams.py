"""Streams: parameters, frames as bytes, batches, snapshots, and what each mode shows."""

import json
from collections.abc import Callable
from itertools import combinations
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openwop_client import output_chunk_payload
from openwop_client.types import RunEventDoc

from tests.harness.cases import each_case, present
from tests.harness.definitions import for_all
from weftwork.protocol.envelopes.kinds import DISPLAY_KINDS
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.pieces import encode_pieces
from weftwork.protocol.run.events import CATALOGUE, MAX_CACHED_DOCUMENT, Event, take_bytes
from weftwork.protocol.wire import streams

CHUNK = {"nodeId": "a", "runId": "run-1", "chunk": "hi", "isLast": True, "meta": {"model": "m"}}


def event(sequence: int, kind: str, payload: Any = None) -> Event:
    body = CHUNK if kind == "output.chunk" else payload or {}
    return Event("run-1", sequence, f"event-{sequence}", kind, 1_000 + sequence, encode_stored(body), "a")


def refusal(call: Any, text: str) -> ClientFault:
    with pytest.raises(ClientFault) as caught:
        call(text)
    assert caught.value.status == 400
    return caught.value


@pytest.mark.rule("sse-04")
@each_case(
    "text, modes",
    (None, {"updates"}),
    ("updates", {"updates"}),
    ("values", {"values"}),
    ("messages,debug", {"messages", "debug"}),
    ("debug,updates,messages", {"updates", "messages", "debug"}),
    ("updates,updates", {"updates"}),
)
def test_modes_are_read(text: str | None, modes: set[str]) -> None:
    assert streams.parse_modes(text) == modes


@pytest.mark.rule("sse-04")
@each_case(
    "text",
    "",
    "all",
    "Updates",
    "values,updates",
    "updates,values",
    "updates,bogus",
    "updates,",
    ",",
    " updates",
    "a\nb",
)
def test_modes_that_are_unknown_or_do_not_go_together_are_refused(text: str) -> None:
    fault = refusal(streams.parse_modes, text)
    assert fault.code == "unsupported_stream_mode"
    assert fault.details == {"supported": ["updates", "values", "messages", "debug"]}


@pytest.mark.rule("sse-05")
@each_case("text, milliseconds", (None, 0), ("0", 0), ("1", 1), ("5000", 5000), ("0050", 50))
def test_a_buffer_time_is_read(text: str | None, milliseconds: int) -> None:
    assert streams.parse_buffer(text) == milliseconds


@pytest.mark.rule("sse-05")
@each_case("text", "", "5001", "99999", "-1", "1.5", "1e3", " 1", "+1", "0x10", "٣", "1\n", "9" * 5000)
def test_a_buffer_time_out_of_range_is_refused(text: str) -> None:
    fault = refusal(streams.parse_buffer, text)
    assert (fault.code, fault.details) == ("validation_error", {"pointer": "", "parameter": "bufferMs"})


@pytest.mark.rule("sse-06")
@each_case(
    "text, cursor",
    (None, streams.Cursor(-1, True)),
    ("", streams.Cursor(-1, True)),
    ("-1", streams.Cursor(-1, True)),
    ("0", streams.Cursor(0, False)),
    ("7.5", streams.Cursor(7, True)),
    ("999999999999999", streams.Cursor(999_999_999_999_999, False)),
)
def test_a_cursor_is_read(text: str | None, cursor: streams.Cursor) -> None:
    assert streams.parse_cursor(text) == cursor


@pytest.mark.rule("sse-06")
@each_case("text", "x", "-2", "1.0", "1.55", ".5", "1,5", " 1", "1 ", "٣", "1\n", "1" * 17, "NaN")
def test_what_is_no_id_of_ours_is_refused(text: str) -> None:
    assert refusal(streams.parse_cursor, text).details == {"pointer": "", "parameter": "Last-Event-ID"}


@for_all(100, st.text(max_size=12) | st.text("-0123456789.5", max_size=6), full=4_000)
def test_any_text_is_a_cursor_or_refused(text: str) -> None:
    try:
        cursor = streams.parse_cursor(text)
    except ClientFault:
        return
    assert cursor.sequence >= -1


@pytest.mark.rule("sse-07")
def test_a_frame_is_the_document_on_one_line() -> None:
    one = event(4, "node.completed", {"text": "line\nbreak\r\n\u2028"})
    frame = streams.event_frame(one)
    head, data, *rest = frame.encode().partition(b"data: ")
    assert head == b"id: 4\nevent: node.completed\n"
    assert data + rest[0] == b"data: " + one.document + b"\n\n"
    assert b"\n" not in one.document
    assert b"\r" not in one.document
    assert msgspec.json.decode(one.document)["payload"] == {"text": "line\nbreak\r\n\u2028"}


@pytest.mark.rule("sse-03")
def test_what_must_not_wait_flushes_a_buffer() -> None:
    flushing = {name for name in CATALOGUE if streams.event_frame(event(0, name)).flush}
    assert flushing == {"run.completed", "run.failed", "run.cancelled", "node.suspended"}


@pytest.mark.rule("sse-08")
def test_a_chunk_reads_as_an_event_document_and_as_a_bare_chunk() -> None:
    frame = streams.chunk_frame(event(4, "output.chunk"), "4.5")
    document = msgspec.json.decode(frame.data)
    assert (frame.id, frame.event, frame.flush) == ("4.5", "ai.message.chunk", False)
    assert document.items() >= CHUNK.items()
    assert document["payload"] == CHUNK
    assert (document["sequence"], document["type"]) == (4, "ai.message.chunk")
    assert schema.check("run-event", document) == []
    kept = {name: document[name] for name in ("eventId", "runId", "payload", "timestamp", "sequence")}
    parsed = present(output_chunk_payload(RunEventDoc(type="output.chunk", **kept)))
    assert parsed.get("chunk") == "hi"


@pytest.mark.rule("sse-08")
def test_a_chunk_without_the_optional_part_leaves_it_out() -> None:
    bare = Event("run-1", 0, "event-0", "output.chunk", 0, b'{"nodeId":"a","runId":"run-1","chunk":"","isLast":false}')
    document = msgspec.json.decode(streams.chunk_frame(bare, "0").data)
    assert "meta" not in document
    assert "meta" not in document["payload"]


@pytest.mark.rule("sse-09")
def test_a_snapshot_frame_is_a_snapshot_and_an_event_document() -> None:
    snapshot = {"runId": "run-1", "workflowId": "sample", "status": "running", "variables": {"a": 1}}
    frame = b"".join(streams.snapshot_frame("run-1", list(encode_pieces(snapshot)), 7, 1_000))
    head, _, data = frame.partition(b"data: ")
    document = json.loads(data)
    assert (head, data[-2:]) == (b"id: 7\nevent: state.snapshot\n", b"\n\n")
    assert document.items() >= snapshot.items()
    assert document["payload"] == snapshot
    assert (document["type"], document["sequence"]) == ("state.snapshot", 7)
    assert schema.check("run-snapshot", document) == []
    assert schema.check("run-event", document) == []


@pytest.mark.rule("sse-10")
@for_all(100, st.lists(st.sampled_from(["run.started", "output.chunk", "node.completed"]), min_size=1, max_size=6))
def test_a_batch_is_one_frame_with_the_highest_id_inside(kinds: list[str]) -> None:
    modes = streams.parse_modes("debug")
    shown: list[streams.StreamFrame] = [
        frame
        for sequence, kind in enumerate(kinds)
        for frame in streams.event_frames(event(sequence, kind), modes, streams.START)
    ]
    batch = streams.batch_frame(shown)
    assert batch.event == "batch"
    assert float(batch.id) == max(float(frame.id) for frame in shown)
    assert json.loads(batch.data) == [json.loads(frame.data) for frame in shown]
    assert batch.encode().count(b"\n") == 4


def test_the_keepalive_is_a_comment() -> None:
    assert streams.KEEPALIVE.startswith(b":")
    assert streams.KEEPALIVE.endswith(b"\n\n")


KINDS = ("run.started", "node.completed", "output.chunk", "log.appended", "run.completed")
PLAIN = [streams.parse_modes(text) for text in ("updates", "debug", "messages", "updates,messages", "debug,messages")]
assert {name for names in PLAIN for name in names} == set(streams.MODES) - {"values"}


def sized_event(sequence: int, kind: str, size: int = 2) -> Event:
    payload = {"nodeId": "n", "chunk": "x" * size, "isLast": True}
    return Event("run-1", sequence, f"e{sequence}", kind, 0, msgspec.json.encode(payload))


@for_all(
    100,
    kind=st.sampled_from(KINDS),
    asked=st.lists(st.tuples(st.sampled_from(PLAIN), st.integers(-1, 4), st.booleans()), min_size=1, max_size=6),
    full=4_000,
)
def test_readers_are_shown_their_frames_whoever_came_before(
    kind: str, asked: list[tuple[frozenset[streams.StreamMode], int, bool]]
) -> None:
    one = sized_event(2, kind)
    for modes, sequence, chunk in asked:
        after = streams.Cursor(sequence, chunk)
        assert streams.encoded_frames(one, modes, after) == b"".join(
            frame.encode() for frame in streams.event_frames(sized_event(2, kind), modes, after)
        )


@each_case("modes", *PLAIN)
@each_case("kind", *KINDS)
def test_small_frames_are_made_once_and_large_ones_not_kept(kind: str, modes: frozenset[streams.StreamMode]) -> None:
    small, large = sized_event(2, kind), sized_event(2, kind, MAX_CACHED_DOCUMENT)
    assert streams.encoded_frames(small, modes, streams.START) is streams.encoded_frames(
        small, frozenset(set(modes)), streams.START
    )
    for one in (small, large):
        assert streams.encoded_frames(one, modes, streams.START) == b"".join(
            frame.encode() for frame in streams.event_frames(one, modes, streams.START)
        )
        assert one.document == one.document
    assert small.document is small.document
    assert not any((large.frames or {}).values())
    assert large._document is None


@given(st.lists(st.integers(0, 50), max_size=8), st.integers(-1, 3000))
def test_events_reach_a_budget_with_the_last_of_them(sizes: list[int], budget: int) -> None:
    events = [sized_event(at, "log.appended", size) for at, size in enumerate(sizes)]
    found = take_bytes(events, budget)
    assert found == events[: len(found)]
    assert sum(each.size for each in found[:-1]) < max(budget, 1)
    assert len(found) == len(events) or sum(each.size for each in found) >= budget


TABLE = {
    "run.started run.completed run.failed run.cancelled run.paused run.resumed": "updates values debug",
    "workspace.updated artifact.created import.applied": "updates values debug",
    "node.started": "values debug",
    "node.completed node.failed node.skipped node.suspended node.dispatched": "updates values debug",
    "approval.requested approval.received": "updates values debug",
    "clarification.requested clarification.resolved": "updates values debug",
    "interrupt.requested interrupt.resolved": "updates values debug",
    "eval.started eval.scored eval.completed": "updates values debug",
    "deployment.promoted deployment.rolled-back deployment.canary.adjusted": "updates values debug",
    "deployment.state.changed": "updates values debug",
    "proposal.created proposal.activated goal.evaluated goal.closed": "updates values debug",
    "output.chunk": "messages debug",
    "media.image media.audio media.file ui.a2ui-surface": "updates debug",
}
"""Event types -> the modes in which they show. Whatever is not named shows in debug alone."""

SHOWN = {name: frozenset(modes.split()) for names, modes in TABLE.items() for name in names.split()}
VENDOR = ("weftwork.run.cancel-requested", "acme.thing", "media.other", *DISPLAY_KINDS)
COMBINED: list[frozenset[streams.StreamMode]] = [
    frozenset(chosen) for count in (1, 2, 3) for chosen in combinations(("updates", "messages", "debug"), count)
]
MODE_KINDS = ["run.started", "node.started", "node.completed", "output.chunk", "variable.changed", "acme.thing"]


def expected(kind: str, mode: str) -> bool:
    return mode in SHOWN.get(kind, {"debug"})


@pytest.mark.rule("sse-01")
@each_case("kind", *(sorted(CATALOGUE) + list(VENDOR)))
def test_each_mode_shows_its_own_events(kind: str) -> None:
    one = event(3, kind)
    for modes in COMBINED:
        shown = [(frame.id, frame.event) for frame in streams.event_frames(one, modes, streams.START)]
        wanted: list[tuple[str, str]] = []
        if ("updates" in modes and expected(kind, "updates")) or "debug" in modes:
            wanted.append(("3", kind))
        if kind == "output.chunk" and modes & {"messages", "debug"}:
            wanted.append(("3.5" if "debug" in modes else "3", "ai.message.chunk"))
        assert shown == wanted, modes


@pytest.mark.rule("sse-02")
@each_case("kind", *(sorted(CATALOGUE) + list(VENDOR)))
def test_values_shows_a_snapshot_after_each_event_that_can_change_one(kind: str) -> None:
    assert (kind in streams.SNAPSHOT_TYPES) is expected(kind, "values")


def test_the_table_names_known_types_only() -> None:
    assert set(SHOWN) <= CATALOGUE | set(DISPLAY_KINDS)


def served(log: list[Event], modes: frozenset[streams.StreamMode], cursor: streams.Cursor) -> list[streams.StreamFrame]:
    """What a reader gets that stands after this cursor; it is given the event of an unfinished pair again."""
    after = cursor.sequence if cursor.chunk else cursor.sequence - 1
    return [frame for each in log if each.sequence > after for frame in streams.event_frames(each, modes, cursor)]


def inexact(kinds: list[str], modes: frozenset[streams.StreamMode], read: Callable[[str], streams.Cursor]) -> list[str]:
    """The ids after which a resumed stream and what came before do not make the whole."""
    log = [event(sequence, kind) for sequence, kind in enumerate(kinds)]
    whole = served(log, modes, streams.START)
    return [
        frame.id for place, frame in enumerate(whole, 1) if whole[:place] + served(log, modes, read(frame.id)) != whole
    ]


@pytest.mark.rule("sse-06")
@for_all(150, st.lists(st.sampled_from(MODE_KINDS), max_size=10), st.sampled_from(COMBINED))
def test_a_stream_cut_anywhere_resumes_exactly(kinds: list[str], modes: frozenset[streams.StreamMode]) -> None:
    assert inexact(kinds, modes, streams.parse_cursor) == []


@each_case("modes", *COMBINED)
def test_a_cut_between_an_event_and_its_chunk_is_exact(modes: frozenset[streams.StreamMode]) -> None:
    assert inexact(["run.started", "output.chunk", "output.chunk", "run.completed"], modes, streams.parse_cursor) == []


@pytest.mark.rule("sse-06")
@for_all(100, st.lists(st.sampled_from(MODE_KINDS), max_size=8), st.sampled_from(COMBINED), st.data())
def test_a_batch_is_resumed_after_its_id(
    kinds: list[str], modes: frozenset[streams.StreamMode], data: st.DataObject
) -> None:
    log = [event(sequence, kind) for sequence, kind in enumerate(kinds)]
    whole = served(log, modes, streams.START)
    if whole:
        cut = data.draw(st.integers(1, len(whole)))
        batch = streams.batch_frame(whole[:cut])
        assert whole[:cut] + served(log, modes, streams.parse_cursor(batch.id)) == whole


def test_ids_without_the_half_step_would_lose_or_repeat_chunks() -> None:
    def lossy(text: str) -> streams.Cursor:
        return streams.Cursor(int(float(text)), True)

    def greedy(text: str) -> streams.Cursor:
        return streams.Cursor(int(float(text)), False)

    kinds = ["output.chunk"]
    debug: frozenset[streams.StreamMode] = frozenset({"debug"})
    assert inexact(kinds, debug, lossy) == ["0"]
    assert inexact(kinds, debug, greedy) == ["0.5"]
