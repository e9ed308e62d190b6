"""What each mode shows, by a table written from the published one, and that a cut stream resumes exactly."""

from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from tests.protocol.wire.test_streams import event
from weftwork.protocol.run.events import CATALOGUE, Event
from weftwork.protocol.wire import streams
from weftwork.protocol.wire.streams import START, Cursor, StreamFrame, StreamMode, event_frames, parse_cursor

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
}
"""Event types -> the modes in which they show. Whatever is not named shows in debug alone."""

SHOWN = {name: frozenset(modes.split()) for names, modes in TABLE.items() for name in names.split()}
VENDOR = ("weftwork.run.cancel-requested", "acme.thing")
COMBINED: list[frozenset[StreamMode]] = [
    frozenset(chosen) for count in (1, 2, 3) for chosen in combinations(("updates", "messages", "debug"), count)
]
KINDS = ["run.started", "node.started", "node.completed", "output.chunk", "variable.changed", "acme.thing"]


def expected(kind: str, mode: str) -> bool:
    return mode in SHOWN.get(kind, {"debug"})


@pytest.mark.rule("sse-01")
@pytest.mark.parametrize("kind", sorted(CATALOGUE) + list(VENDOR))
def test_each_mode_shows_its_own_events(kind: str) -> None:
    one = event(3, kind)
    for modes in COMBINED:
        shown = [(frame.id, frame.event) for frame in event_frames(one, modes, START)]
        wanted: list[tuple[str, str]] = []
        if ("updates" in modes and expected(kind, "updates")) or "debug" in modes:
            wanted.append(("3", kind))
        if kind == "output.chunk" and modes & {"messages", "debug"}:
            wanted.append(("3.5" if "debug" in modes else "3", "ai.message.chunk"))
        assert shown == wanted, modes


@pytest.mark.rule("sse-02")
@pytest.mark.parametrize("kind", sorted(CATALOGUE) + list(VENDOR))
def test_values_shows_a_snapshot_after_each_event_that_can_change_one(kind: str) -> None:
    assert (kind in streams.SNAPSHOT_TYPES) is expected(kind, "values")


def test_the_table_names_known_types_only() -> None:
    assert set(SHOWN) <= CATALOGUE


def served(log: list[Event], modes: frozenset[StreamMode], cursor: Cursor) -> list[StreamFrame]:
    """What a reader gets that stands after this cursor; it is given the event of an unfinished pair again."""
    after = cursor.sequence if cursor.chunk else cursor.sequence - 1
    return [frame for each in log if each.sequence > after for frame in event_frames(each, modes, cursor)]


def inexact(kinds: list[str], modes: frozenset[StreamMode], read: Callable[[str], Cursor]) -> list[str]:
    """The ids after which a resumed stream and what came before do not make the whole."""
    log = [event(sequence, kind) for sequence, kind in enumerate(kinds)]
    whole = served(log, modes, START)
    return [
        frame.id for place, frame in enumerate(whole, 1) if whole[:place] + served(log, modes, read(frame.id)) != whole
    ]


@pytest.mark.rule("sse-06")
@settings(max_examples=example_count(150), deadline=None)
@given(st.lists(st.sampled_from(KINDS), max_size=10), st.sampled_from(COMBINED))
def test_a_stream_cut_anywhere_resumes_exactly(kinds: list[str], modes: frozenset[StreamMode]) -> None:
    assert inexact(kinds, modes, parse_cursor) == []


@pytest.mark.parametrize("modes", COMBINED, ids=lambda modes: ",".join(sorted(modes)))
def test_a_cut_between_an_event_and_its_chunk_is_exact(modes: frozenset[StreamMode]) -> None:
    assert inexact(["run.started", "output.chunk", "output.chunk", "run.completed"], modes, parse_cursor) == []


@pytest.mark.rule("sse-06")
@settings(max_examples=example_count(100), deadline=None)
@given(st.lists(st.sampled_from(KINDS), max_size=8), st.sampled_from(COMBINED), st.data())
def test_a_batch_is_resumed_after_its_id(kinds: list[str], modes: frozenset[StreamMode], data: st.DataObject) -> None:
    log = [event(sequence, kind) for sequence, kind in enumerate(kinds)]
    whole = served(log, modes, START)
    if whole:
        cut = data.draw(st.integers(1, len(whole)))
        batch = streams.batch_frame(whole[:cut])
        assert whole[:cut] + served(log, modes, parse_cursor(batch.id)) == whole


def test_ids_without_the_half_step_would_lose_or_repeat_chunks() -> None:
    def lossy(text: str) -> Cursor:
        return Cursor(int(float(text)), True)

    def greedy(text: str) -> Cursor:
        return Cursor(int(float(text)), False)

    kinds = ["output.chunk"]
    debug: frozenset[StreamMode] = frozenset({"debug"})
    assert inexact(kinds, debug, lossy) == ["0"]
    assert inexact(kinds, debug, greedy) == ["0.5"]
