"""How two runs differ: by their logs, sequence by sequence, and by the resulting states. Pure and bounded.

Members that differ between any two runs are not compared: event ids, run ids and times, and causation, which names an
event. Everything is taken from what the log shows, so what the log hides stays hidden. Source: RFC 0054.
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
"""Of each log that are compared."""
MAX_EVENT_BYTES: Final = 4 * 2**20
"""The difference with which those of events reach this is the last one."""
MAX_STATE_BYTES: Final = 1_048_576
"""Values of states that are not equal to the byte are looked at, and shown, as long as they fit into this."""
CHILD_RUN_ID: Final = "childRunId"
VOLATILE_MEMBERS: Final[frozenset[str]] = frozenset({"runId", "writtenAt", "parentRunId", CHILD_RUN_ID})
"""diff-02 (readings, Diff): members of payloads that are run ids, or times taken from the event's own."""

_ROW_MEMBERS: Final[dict[str, str]] = {"variable": "variables", "channel": "channels"}


class RunDiff:
    """Of run b, seen from run a. Takes in the events of both, from sequence 0 on, and then says what differs."""

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
        """diff-01 (RFC 0054): the events of both logs at the next sequence; None where a log has none."""
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
        """diff-01 (RFC 0054): the answer; `truncated` unless both runs have ended and everything was compared."""
        return {
            **self._ids,
            "divergedAtSeq": self._events[0]["seq"] if self._events else None,
            "eventDiffs": self._events,
            "stateDiff": self._state_diff,
            "truncated": self._is_live or self._is_state_truncated or self.next_sequence <= self.last_sequence,
        }


def _last_comparable(a: StoredRun, b: StoredRun) -> int:
    """diff-03 (readings, Diff): the last sequence that can be compared: what a live run lacks may still come."""
    runs = (a.projection, b.projection)
    live = [run.last_sequence for run in runs if run.status not in TERMINAL_STATUSES]
    return min(live) if live else max(run.last_sequence for run in runs)


def is_same_event(a: Event, b: Event) -> bool:
    """diff-02 (RFC 0054): equal but for what differs between any two runs."""
    one, other = ((e.type, e.node_id, e.schema_version, e.engine_version) for e in (a, b))
    return one == other and (a.payload == b.payload or _stable_payload(a.payload) == _stable_payload(b.payload))


def _stable_payload(payload: bytes) -> bytes:
    value = _decode(payload)
    if is_object(value):
        kept = {name: member for name, member in value.items() if name not in VOLATILE_MEMBERS}
        value = {**kept, "outputs": _without_child_runs(kept["outputs"])} if "outputs" in kept else kept
    return encode_stored(value)


def _without_child_runs(value: Any) -> Any:
    """diff-02 (readings, Diff): outputs without the runs that nodes have started."""
    if is_object(value):
        return {name: _without_child_runs(member) for name, member in value.items() if name != CHILD_RUN_ID}
    return [_without_child_runs(item) for item in value] if is_array(value) else value


def _comparable_value(data: bytes, pointer: str) -> bytes:
    value = _decode(data)
    return encode_stored(_without_child_runs(value) if pointer.startswith("/outputs/") else value)


def _decode(data: bytes) -> Any:
    """JSON of ours, with every number in one form, so that what equals in canonical form equals here."""
    return json.loads(data, parse_int=_number, parse_float=_number)


def _number(text: str) -> float:
    return float(text) + 0.0  # no minus zero


def state_diff(a: StoredRun, b: StoredRun) -> tuple[dict[str, Any], bool]:
    """diff-04 (RFC 0054): pointer into the snapshots -> the values there, and whether some were left out.

    Status, variables, channels, and outputs by node; what a run lacks is left out of its pair.
    """
    found: dict[str, Any] = {}
    cut = False
    left = MAX_STATE_BYTES
    one, other = dict(_state_values(a)), dict(_state_values(b))
    for pointer in sorted(one.keys() | other.keys()):
        pair = {name: state[pointer] for name, state in (("a", one), ("b", other)) if pointer in state}
        if len(pair) == 2 and pair["a"] == pair["b"]:
            continue
        weight = len(pointer) + sum(map(len, pair.values()))
        if weight > left:
            cut = True
            continue
        left -= weight
        if len(pair) == 1 or _comparable_value(pair["a"], pointer) != _comparable_value(pair["b"], pointer):
            found[pointer] = {name: msgspec.Raw(value) for name, value in pair.items()}
    return found, cut


def _state_values(run: StoredRun) -> Iterator[tuple[str, bytes]]:
    """What is compared of a snapshot, by pointer."""
    yield "/status", msgspec.json.encode(run.projection.status)
    for row in run.rows:
        if row.kind in _ROW_MEMBERS:
            yield f"/{_ROW_MEMBERS[row.kind]}/{escape_token(row.name)}", row.value
    outputs: dict[str, msgspec.Raw] = {}
    if run.projection.outputs is not None:
        outputs = msgspec.json.decode(run.projection.outputs, type=dict[str, msgspec.Raw])
    for node_id, value in outputs.items():
        yield f"/outputs/{escape_token(node_id)}", bytes(value)
