"""The reader of server-sent events: the same events for every split of the stream, and a limit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import example_count
from weftwork.adapters.providers.openai_compatible import event_stream
from weftwork.adapters.providers.openai_compatible.event_stream import EventReader, EventTooLarge


def read(*chunks: bytes) -> list[bytes]:
    reader = EventReader()
    return [*(data for chunk in chunks for data in reader.feed(chunk)), *reader.end()]


@each_case(
    "stream, events",
    (b"", []),
    (b"\n\n", []),
    (b"data: a\n\n", [b"a"]),
    (b"data:a\n\ndata:  b\n\n", [b"a", b" b"]),
    (b"data: a\ndata: b\n\n", [b"a\nb"]),
    (b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", [b"a", b"b", b"c"]),
    (b": x\n\nevent: y\nid: 1\nretry: 5\ndata: a\n\n", [b"a"]),
    (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
    (b"data: a", [b"a"]),
    (b"data: a\n", [b"a"]),
    (b"data\n\n", []),
    (b"data:\n\n", [b""]),
    (b"database: a\n\n", []),
    (b"data: a\x0b\x0c\x1cb\n\n", [b"a\x0b\x0c\x1cb"]),
)
def test_events_are_read(stream: bytes, events: list[bytes]) -> None:
    assert read(stream) == events
    assert read(*(stream[at : at + 1] for at in range(len(stream)))) == events


def test_an_empty_line_after_a_split_line_ending_is_read() -> None:
    assert read(b"data: 1\r", b"\n", b"\n", b"data: 2\n\n") == [b"1", b"2"]


LINES = st.lists(st.sampled_from([b"data: a", b"data: b c", b": x", b"", b"", b"event: e", b"data"]), max_size=12)


@settings(max_examples=example_count(100, full=5_000), deadline=None)
@given(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"]), st.data())
def test_every_split_gives_the_same_events(lines: list[bytes], end: bytes, data: st.DataObject) -> None:
    stream = b"".join(line + end for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert read(*pieces) == read(stream)


@fails_without(EventReader, "_count", lambda *_: None, match="DID NOT RAISE")
def test_lines_and_events_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "MAX_EVENT_BYTES", 1_000)
    assert read(b"data: " + b"x" * 900 + b"\n\n") == [b"x" * 900]
    for chunks in ([b"x" * 100] * 20, [b"data: " + b"x" * 100 + b"\n"] * 20, [b"x" * 2_000 + b"\n"]):
        with pytest.raises(EventTooLarge):
            read(*chunks)
