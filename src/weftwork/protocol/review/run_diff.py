"""Compares two runs: their logs, sequence by sequence, and their states. Pure and bounded.

What differs between any two runs is not compared: event ids, run ids, times, and causation, which refers to an event id
(see `compared_form`). Both runs are compared as the log shows them, so hidden values stay hidden. Source: RFC 0054.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from weftwork.protocol.json.pointers import escape_token
from weftwork.protocol.review.compared_form import ComparedForm, compared_run_ids
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import TERMINAL_STATUSES
from weftwork.protocol.run.projection import StoredRun

MAX_COMPARED_EVENTS: Final = 100_000
"""Events of each log that are compared."""
MAX_EVENT_BYTES: Final = 4 * 2**20
"""Bytes of differing events. The comparison ends with the difference that reaches this limit."""
MAX_STATE_BYTES: Final = 1_048_576
"""Bytes of state values that differ byte by byte. A pair of values that exceeds the rest of this budget is neither
compared further nor included."""
_ROW_MEMBERS: Final[dict[str, str]] = {"variable": "variables", "channel": "channels"}


class RunDiff:
    """The changes from run a to run b. Call `add` with the events of both runs from sequence 0 while `has_next`, then
    `document`."""

    def __init__(self, a: StoredRun, b: StoredRun) -> None:
        self.last_sequence = _last_comparable(a, b)
        self.next_sequence = 0
        self._ids = {"a": a.header.run_id, "b": b.header.run_id}
        self._is_live = not {a.projection.status, b.projection.status} <= TERMINAL_STATUSES
        self._form = ComparedForm(compared_run_ids(a.header, b.header))
        self._state_diff, self._is_state_truncated = state_diff(a, b)
        self._events: list[dict[str, Any]] = []
        self._bytes_left = MAX_EVENT_BYTES

    @property
    def has_next(self) -> bool:
        return (
            self.next_sequence <= self.last_sequence
            and self._bytes_left > 0
            and self.next_sequence < MAX_COMPARED_EVENTS
        )

    def add(self, a: Event | None, b: Event | None) -> None:
        """diff-01 (RFC 0054): compare the events of both logs at `next_sequence`. None means that a log has ended."""
        sequence, self.next_sequence = self.next_sequence, self.next_sequence + 1
        if a is not None and b is not None and self._form.is_same_event(a, b):
            return
        entry: dict[str, Any] = {"seq": sequence, "op": "added" if a is None else "removed" if b is None else "changed"}
        for name, event in (("aEvent", a), ("bEvent", b)):
            if event is not None:
                entry[name] = msgspec.Raw(event.document)
                self._bytes_left -= event.size
        self._events.append(entry)

    def document(self) -> dict[str, Any]:
        """diff-01 (RFC 0054): the diff. It is `truncated` unless both runs have ended and everything was compared."""
        return {
            **self._ids,
            "divergedAtSeq": self._events[0]["seq"] if self._events else None,
            "eventDiffs": self._events,
            "stateDiff": self._state_diff,
            "truncated": self._is_live or self._is_state_truncated or self.next_sequence <= self.last_sequence,
        }


def _last_comparable(a: StoredRun, b: StoredRun) -> int:
    """diff-03 (readings, Diff): the last sequence to compare. Events behind the end of a live run are not compared,
    because the run may still produce them."""
    runs = (a.projection, b.projection)
    live = [run.last_sequence for run in runs if run.status not in TERMINAL_STATUSES]
    return min(live) if live else max(run.last_sequence for run in runs)


def state_diff(a: StoredRun, b: StoredRun) -> tuple[dict[str, Any], bool]:
    """diff-04 (RFC 0054): the differing values by pointer into the snapshots, and whether some were omitted.

    Compares the status, variables, channels, and outputs by node. If only one run has a value, the pair has only that
    value.
    """
    form = ComparedForm(compared_run_ids(a.header, b.header))
    found = StateDifferences(MAX_STATE_BYTES)
    found.add_all(dict(state_values(a)), dict(state_values(b)), form)
    return found.pairs, found.is_truncated


class StateDifferences:
    """The differing values of two states by pointer, within a budget of bytes."""

    def __init__(self, budget: int) -> None:
        self.pairs: dict[str, dict[str, msgspec.Raw]] = {}
        self.is_truncated = False
        """Whether a pair of values exceeded the rest of the budget, and was neither compared nor included."""
        self._bytes_left = budget

    def add_all(
        self, a: Mapping[str, bytes], b: Mapping[str, bytes], form: ComparedForm, ordered_channels: bool = True
    ) -> None:
        for pointer in sorted(a.keys() | b.keys()):
            pair = {name: state[pointer] for name, state in (("a", a), ("b", b)) if pointer in state}
            if len(pair) == 2 and pair["a"] == pair["b"]:
                continue
            size = len(pointer) + sum(map(len, pair.values()))
            if size > self._bytes_left:
                self.is_truncated = True
                continue
            self._bytes_left -= size
            if len(pair) == 1 or _compared(form, pointer, pair["a"], ordered_channels) != _compared(
                form, pointer, pair["b"], ordered_channels
            ):
                self.pairs[pointer] = {name: msgspec.Raw(value) for name, value in pair.items()}


def _compared(form: ComparedForm, pointer: str, value: bytes, ordered_channels: bool) -> bytes:
    if pointer.startswith("/channels/"):
        return form.channel(value) if ordered_channels else form.channel_items(value)
    is_node_output = pointer.startswith("/nodes/") and pointer.endswith("/outputs")
    return form.value(value, is_output=is_node_output or pointer.startswith("/outputs/"))


def state_values(run: StoredRun) -> Iterator[tuple[str, bytes]]:
    """The compared values of a snapshot, each with its pointer."""
    yield "/status", msgspec.json.encode(run.projection.status)
    for row in run.rows:
        if row.kind in _ROW_MEMBERS:
            yield f"/{_ROW_MEMBERS[row.kind]}/{escape_token(row.name)}", row.value
    outputs: dict[str, msgspec.Raw] = {}
    if run.projection.outputs is not None:
        outputs = msgspec.json.decode(run.projection.outputs, type=dict[str, msgspec.Raw])
    for node_id, value in outputs.items():
        yield f"/outputs/{escape_token(node_id)}", bytes(value)
