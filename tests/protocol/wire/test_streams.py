"""Streams: parameters, single frames, batches, snapshots."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openwop_client import output_chunk_payload
from openwop_client.types import RunEventDoc

from tests.harness.definitions import example_count
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.run.events import CATALOGUE, Event
from weftwork.protocol.wire import streams
from weftwork.protocol.wire.streams import Cursor, StreamFrame, parse_buffer, parse_cursor, parse_modes

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
@pytest.mark.parametrize(
    ("text", "modes"),
    [
        (None, {"updates"}),
        ("updates", {"updates"}),
        ("values", {"values"}),
        ("messages,debug", {"messages", "debug"}),
        ("debug,updates,messages", {"updates", "messages", "debug"}),
        ("updates,updates", {"updates"}),
    ],
)
def test_modes_are_read(text: str | None, modes: set[str]) -> None:
    assert parse_modes(text) == modes


@pytest.mark.rule("sse-04")
@pytest.mark.parametrize(
    "text",
    ["", "all", "Updates", "values,updates", "updates,values", "updates,bogus", "updates,", ",", " updates", "a\nb"],
)
def test_modes_that_are_unknown_or_do_not_go_together_are_refused(text: str) -> None:
    fault = refusal(parse_modes, text)
    assert fault.code == "unsupported_stream_mode"
    assert fault.details == {"supported": ["updates", "values", "messages", "debug"]}


@pytest.mark.rule("sse-05")
@pytest.mark.parametrize(("text", "milliseconds"), [(None, 0), ("0", 0), ("1", 1), ("5000", 5000), ("0050", 50)])
def test_a_buffer_time_is_read(text: str | None, milliseconds: int) -> None:
    assert parse_buffer(text) == milliseconds


@pytest.mark.rule("sse-05")
@pytest.mark.parametrize("text", ["", "5001", "99999", "-1", "1.5", "1e3", " 1", "+1", "0x10", "٣", "1\n", "9" * 5000])
def test_a_buffer_time_out_of_range_is_refused(text: str) -> None:
    fault = refusal(parse_buffer, text)
    assert (fault.code, fault.details) == ("validation_error", {"pointer": "", "parameter": "bufferMs"})


@pytest.mark.rule("sse-06")
@pytest.mark.parametrize(
    ("text", "cursor"),
    [
        (None, Cursor(-1, True)),
        ("", Cursor(-1, True)),
        ("-1", Cursor(-1, True)),
        ("0", Cursor(0, False)),
        ("7.5", Cursor(7, True)),
        ("999999999999999", Cursor(999_999_999_999_999, False)),
    ],
)
def test_a_cursor_is_read(text: str | None, cursor: Cursor) -> None:
    assert parse_cursor(text) == cursor


@pytest.mark.rule("sse-06")
@pytest.mark.parametrize("text", ["x", "-2", "1.0", "1.55", ".5", "1,5", " 1", "1 ", "٣", "1\n", "1" * 17, "NaN"])
def test_what_is_no_id_of_ours_is_refused(text: str) -> None:
    assert refusal(parse_cursor, text).details == {"pointer": "", "parameter": "Last-Event-ID"}


@settings(max_examples=example_count(200), deadline=None)
@given(st.text(max_size=12) | st.text("-0123456789.5", max_size=6))
def test_any_text_is_a_cursor_or_refused(text: str) -> None:
    try:
        cursor = parse_cursor(text)
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
    parsed = output_chunk_payload(RunEventDoc(type="output.chunk", **kept))
    assert parsed is not None
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
    frame = streams.snapshot_frame(snapshot, 7, 1_000)
    document = json.loads(frame.data)
    assert (frame.id, frame.event) == ("7", "state.snapshot")
    assert document.items() >= snapshot.items()
    assert document["payload"] == snapshot
    assert (document["type"], document["sequence"]) == ("state.snapshot", 7)
    assert schema.check("run-snapshot", document) == []
    assert schema.check("run-event", document) == []


@pytest.mark.rule("sse-10")
@settings(max_examples=example_count(100), deadline=None)
@given(st.lists(st.sampled_from(["run.started", "output.chunk", "node.completed"]), min_size=1, max_size=6))
def test_a_batch_is_one_frame_with_the_highest_id_inside(kinds: list[str]) -> None:
    modes = parse_modes("debug")
    shown: list[StreamFrame] = [
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
