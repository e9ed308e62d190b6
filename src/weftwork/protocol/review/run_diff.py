"""Compares two runs: their logs, sequence by sequence, and their states. Pure and bounded.

Members that differ between any two runs are not compared: event ids, run ids, times, and causation, which refers to an
event id. Both runs are compared as the log shows them, so hidden values stay hidden. Source: RFC 0054.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.pointers import escape_token
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import TERMINAL_STATUSES
from weftwork.protocol.run.projection import StoredRun

MAX_COMPARED_EVENTS: Final = 10_000
"""Events of each log that are compared."""
MAX_EVENT_BYTES: Final = 4 * 2**20
"""Bytes of differing events. The comparison ends with the difference that reaches this limit."""
MAX_STATE_BYTES: Final = 1_048_576
"""Bytes of state values that differ byte by byte. A pair of values that exceeds the rest of this budget is neither
compared further nor included."""
CHILD_RUN_ID: Final = "childRunId"
VOLATILE_MEMBERS: Final[frozenset[str]] = frozenset({"runId", "writtenAt", "parentRunId", CHILD_RUN_ID})
"""diff-02 (readings, Diff): payload members that are not compared, because they hold run ids or the time of the
event."""

_ROW_MEMBERS: Final[dict[str, str]] = {"variable": "variables", "channel": "channels"}


class RunDiff:
    """The changes from run a to run b. Call `add` with the events of both runs from sequence 0 while `has_next`, then
    `document`."""

    def __init__(self, a: StoredRun, b: StoredRun) -> None:
        self.last_sequence = _last_comparable(a, b)
        self.next_sequence = 0
        self._ids = {"a": a.header.run_id, "b": b.header.run_id}
        self._is_live = not {a.projection.status, b.projection.status} <= TERMINAL_STATUSES
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
        if a is not None and b is not None and is_same_event(a, b):
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


def is_same_event(a: Event, b: Event) -> bool:
    """diff-02 (RFC 0054): whether two events are equal apart from the members that differ between any two runs."""
    one, other = ((e.type, e.node_id, e.schema_version, e.engine_version) for e in (a, b))
    return one == other and (a.payload == b.payload or _stable_payload(a.payload) == _stable_payload(b.payload))


def _stable_payload(payload: bytes) -> bytes:
    value = _decode(payload)
    if is_object(value):
        stable = {name: member for name, member in value.items() if name not in VOLATILE_MEMBERS}
        value = {**stable, "outputs": _without_child_runs(stable["outputs"])} if "outputs" in stable else stable
    return encode_stored(value)


def _without_child_runs(value: Any) -> Any:
    """diff-02 (readings, Diff): the outputs without the ids of child runs."""
    if is_object(value):
        return {name: _without_child_runs(member) for name, member in value.items() if name != CHILD_RUN_ID}
    return [_without_child_runs(item) for item in value] if is_array(value) else value


def _comparable_value(data: bytes, pointer: str) -> bytes:
    value = _decode(data)
    return encode_stored(_without_child_runs(value) if pointer.startswith("/outputs/") else value)


def _decode(data: bytes) -> Any:
    """Decode JSON that the host has written. All numbers become floats, so that values that are equal in canonical form
    compare equal."""
    return json.loads(data, parse_int=_number, parse_float=_number)


def _number(text: str) -> float:
    return float(text) + 0.0  # no minus zero


def state_diff(a: StoredRun, b: StoredRun) -> tuple[dict[str, Any], bool]:
    """diff-04 (RFC 0054): the differing values by pointer into the snapshots, and whether some were omitted.

    Compares the status, variables, channels, and outputs by node. If only one run has a value, the pair has only that
    value.
    """
    differences: dict[str, Any] = {}
    is_truncated = False
    bytes_left = MAX_STATE_BYTES
    one, other = dict(_state_values(a)), dict(_state_values(b))
    for pointer in sorted(one.keys() | other.keys()):
        pair = {name: state[pointer] for name, state in (("a", one), ("b", other)) if pointer in state}
        if len(pair) == 2 and pair["a"] == pair["b"]:
            continue
        size = len(pointer) + sum(map(len, pair.values()))
        if size > bytes_left:
            is_truncated = True
            continue
        bytes_left -= size
        if len(pair) == 1 or _comparable_value(pair["a"], pointer) != _comparable_value(pair["b"], pointer):
            differences[pointer] = {name: msgspec.Raw(value) for name, value in pair.items()}
    return differences, is_truncated


def _state_values(run: StoredRun) -> Iterator[tuple[str, bytes]]:
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
