"""Frames of an event as bytes: the same for every reader in the same modes, so they are made once."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol.run.events import MAX_CACHED_DOCUMENT, Event, take_bytes
from weftwork.protocol.wire.streams import MODES, START, Cursor, StreamMode, encoded_frames, event_frames, parse_modes

KINDS = ("run.started", "node.completed", "output.chunk", "log.appended", "run.completed")
PLAIN = [parse_modes(text) for text in ("updates", "debug", "messages", "updates,messages", "debug,messages")]
assert {name for names in PLAIN for name in names} == set(MODES) - {"values"}


def event(sequence: int, kind: str, size: int = 2) -> Event:
    payload = {"nodeId": "n", "chunk": "x" * size, "isLast": True}
    return Event("run-1", sequence, f"e{sequence}", kind, 0, msgspec.json.encode(payload))


@settings(max_examples=example_count(200), deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    asked=st.lists(st.tuples(st.sampled_from(PLAIN), st.integers(-1, 4), st.booleans()), min_size=1, max_size=6),
)
def test_readers_are_shown_their_frames_whoever_came_before(
    kind: str, asked: list[tuple[frozenset[StreamMode], int, bool]]
) -> None:
    one = event(2, kind)
    for modes, sequence, chunk in asked:
        after = Cursor(sequence, chunk)
        assert encoded_frames(one, modes, after) == b"".join(
            frame.encode() for frame in event_frames(event(2, kind), modes, after)
        )


@pytest.mark.parametrize("modes", PLAIN)
@pytest.mark.parametrize("kind", KINDS)
def test_small_frames_are_made_once_and_large_ones_not_kept(kind: str, modes: frozenset[StreamMode]) -> None:
    small, large = event(2, kind), event(2, kind, MAX_CACHED_DOCUMENT)
    assert encoded_frames(small, modes, START) is encoded_frames(small, frozenset(set(modes)), START)
    for one in (small, large):
        assert encoded_frames(one, modes, START) == b"".join(
            frame.encode() for frame in event_frames(one, modes, START)
        )
        assert one.document == one.document
    assert small.document is small.document
    assert not any((large.frames or {}).values())
    assert large._document is None


@given(st.lists(st.integers(0, 50), max_size=8), st.integers(-1, 3000))
def test_events_reach_a_budget_with_the_last_of_them(sizes: list[int], budget: int) -> None:
    events = [event(at, "log.appended", size) for at, size in enumerate(sizes)]
    found = take_bytes(events, budget)
    assert found == events[: len(found)]
    assert sum(each.size for each in found[:-1]) < max(budget, 1)
    assert len(found) == len(events) or sum(each.size for each in found) >= budget
