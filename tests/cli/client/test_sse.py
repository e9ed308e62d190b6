"""Server-sent events as they are read: however they are cut, ended and filled."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weftwork.cli.client import event_stream
from weftwork.cli.client.event_stream import FrameParser, FrameTooLarge, ReceivedFrame, UnreadableFrame

SEVERAL = (
    b"\xef\xbb\xbf: hello\n\n"
    b'id: 0\nevent: run.started\ndata: {"type": "run.started",\ndata: "sequence": 0}\n\n'
    b"retry: 1500\nretry: soon\nunknown: x\ndata\n\n"
    b'data: "no id, so that of the one before"\n\n'
    b'id: 4\nevent: batch\ndata: [{"sequence": 3, "type": "a.b"}, {"sequence": 4, "type": "c.d"}, 5]\n\n'
    b"id: bad\x00id\nevent: x\ndata:{}\n\n"
    b"id: 7\ndata: {broken\n\n"
    b'event: last\ndata: "\xe2\x80\xa8 \\u001b"\n\n'
    b"data: 1\n"
)
FRAMES: list[ReceivedFrame | UnreadableFrame] = [
    ReceivedFrame("run.started", {"type": "run.started", "sequence": 0}, "0"),
    ReceivedFrame("message", "no id, so that of the one before", "0"),
    ReceivedFrame("a.b", {"sequence": 3, "type": "a.b"}, "3"),
    ReceivedFrame("c.d", {"sequence": 4, "type": "c.d"}, "4"),
    ReceivedFrame("message", 5, "4"),
    ReceivedFrame("x", {}, "4"),
    UnreadableFrame("7"),
    ReceivedFrame("last", "\u2028 \x1b", "7"),
]


def parsed(body: bytes, *cuts: int) -> list[ReceivedFrame | UnreadableFrame]:
    parser = FrameParser()
    places = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    return [each for at, to in pairwise(places) for each in parser.feed(body[at:to])]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([b"\n", b"\r\n", b"\r"]), st.lists(st.integers(0, 10_000), max_size=12))
def test_frames_are_the_same_however_they_arrive(line_end: bytes, cuts: list[int]) -> None:
    assert parsed(SEVERAL.replace(b"\n", line_end), *cuts) == FRAMES


def test_byte_by_byte_as_well() -> None:
    for line_end in (b"\n", b"\r\n", b"\r"):
        body = SEVERAL.replace(b"\n", line_end)
        assert parsed(body, *range(len(body))) == FRAMES


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=3))
def test_nothing_breaks_the_reader(noise: bytes, cuts: list[int]) -> None:
    parsed(noise, *cuts)
    assert parsed(noise + b"\n\ndata: 1\n\n", *cuts)[-1] == ReceivedFrame("message", 1, _last_id(noise))


def _last_id(noise: bytes) -> str:
    return ([each.id for each in parsed(noise + b"\n\ndata: 1\n\n")] or [""])[-1]


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-99, 99) | st.text(st.characters(codec="ascii"), max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    )
)
def test_a_frame_is_put_together_from_any_document(document: Any) -> None:
    text = json.dumps(document).replace("\\u0000", "0")
    assert parsed(f"id: 3\nevent: e\ndata: {text}\n\n".encode()) == [ReceivedFrame("e", json.loads(text), "3")]


def test_the_wait_that_a_host_asks_for_is_known() -> None:
    parser = FrameParser()
    parser.feed(SEVERAL)
    assert parser.retry_ms == 1500


def test_a_frame_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "MAX_FRAME_BYTES", 1000)
    parser = FrameParser()
    for _ in range(5):
        assert parser.feed(b": " + b"x" * 600 + b"\n\n") == []
    assert parser.feed(b"x" * 600) == []
    with pytest.raises(FrameTooLarge):
        parser.feed(b"x" * 600)
    parser = FrameParser()
    assert parser.feed(b"data: x\n" * 100) == []
    with pytest.raises(FrameTooLarge):
        parser.feed(b"data: x\n" * 100)
