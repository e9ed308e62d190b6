"""How two runs differ: by their logs, sequence by sequence, and by the states these come to. Pure and bounded.

What must differ between any two runs is not compared: event ids, run ids and times, and with them causation, which
names an event. Everything here is made of what the log shows, so what it hides stays hidden. Source: RFC 0054.
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

MOST_EVENTS: Final = 10_000
"""Of each log that are compared."""
EVENT_BYTES: Final = 4 * 2**20
"""The difference with which those of events reach this is the last one."""
STATE_BYTES: Final = 1_048_576
"""Values of states that are not equal to the byte are looked at, and shown, as long as they fit into this."""
CHILD: Final = "childRunId"
VOLATILE: Final[frozenset[str]] = frozenset({"runId", "writtenAt", "parentRunId", CHILD})
"""diff-02 (readings, Diff): members of payloads that are run ids, or times taken from the event's own."""

_ROWS: Final[dict[str, str]] = {"variable": "variables", "channel": "channels"}


class Diff:
    """Of run b, seen from run a. Takes in the events of both, from sequence 0 on, and then says what differs."""

    def __init__(self, a: StoredRun, b: StoredRun) -> None:
        self.last = _last(a, b)
        self.next = 0
        self._ids = {"a": a.header.run_id, "b": b.header.run_id}
        self._live = not {a.projection.status, b.projection.status} <= TERMINAL_STATUSES
        self._states, self._cut = state_diff(a, b)
        self._events: list[dict[str, Any]] = []
        self._left = EVENT_BYTES

    @property
    def open(self) -> bool:
        """Whether there is a next sequence to compare."""
        return self.next <= self.last and self._left > 0 and self.next < MOST_EVENTS

    def add(self, a: Event | None, b: Event | None) -> None:
        """diff-01 (RFC 0054): the events of both logs at the next sequence; None where a log has none."""
        sequence, self.next = self.next, self.next + 1
        if a is not None and b is not None and same(a, b):
            return
        entry: dict[str, Any] = {"seq": sequence, "op": "added" if a is None else "removed" if b is None else "changed"}
        for name, event in (("aEvent", a), ("bEvent", b)):
            if event is not None:
                entry[name] = msgspec.Raw(event.document)
                self._left -= event.size
        self._events.append(entry)

    def document(self) -> dict[str, Any]:
        """diff-01 (RFC 0054): the answer; `truncated` unless both runs have ended and everything was compared."""
        return {
            **self._ids,
            "divergedAtSeq": self._events[0]["seq"] if self._events else None,
            "eventDiffs": self._events,
            "stateDiff": self._states,
            "truncated": self._live or self._cut or self.next <= self.last,
        }


def _last(a: StoredRun, b: StoredRun) -> int:
    """diff-03 (readings, Diff): the last sequence that can be compared: what a live run lacks may still come."""
    runs = (a.projection, b.projection)
    live = [run.last_sequence for run in runs if run.status not in TERMINAL_STATUSES]
    return min(live) if live else max(run.last_sequence for run in runs)


def same(a: Event, b: Event) -> bool:
    """diff-02 (RFC 0054): equal but for what differs between any two runs."""
    one, other = ((e.type, e.node_id, e.schema_version, e.engine_version) for e in (a, b))
    return one == other and (a.payload == b.payload or _lasting(a.payload) == _lasting(b.payload))


def _lasting(payload: bytes) -> bytes:
    value = _decode(payload)
    if is_object(value):
        kept = {name: member for name, member in value.items() if name not in VOLATILE}
        value = {**kept, "outputs": _unnamed(kept["outputs"])} if "outputs" in kept else kept
    return encode_stored(value)


def _unnamed(value: Any) -> Any:
    """diff-02 (readings, Diff): outputs without the runs that nodes have started."""
    if is_object(value):
        return {name: _unnamed(member) for name, member in value.items() if name != CHILD}
    return [_unnamed(item) for item in value] if is_array(value) else value


def _plain(data: bytes, pointer: str) -> bytes:
    value = _decode(data)
    return encode_stored(_unnamed(value) if pointer.startswith("/outputs/") else value)


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
    left = STATE_BYTES
    one, other = dict(_state(a)), dict(_state(b))
    for pointer in sorted(one.keys() | other.keys()):
        pair = {name: state[pointer] for name, state in (("a", one), ("b", other)) if pointer in state}
        if len(pair) == 2 and pair["a"] == pair["b"]:
            continue
        weight = len(pointer) + sum(map(len, pair.values()))
        if weight > left:
            cut = True
            continue
        left -= weight
        if len(pair) == 1 or _plain(pair["a"], pointer) != _plain(pair["b"], pointer):
            found[pointer] = {name: msgspec.Raw(value) for name, value in pair.items()}
    return found, cut


def _state(run: StoredRun) -> Iterator[tuple[str, bytes]]:
    """What is compared of a snapshot, by pointer."""
    yield "/status", msgspec.json.encode(run.projection.status)
    for row in run.rows:
        if row.kind in _ROWS:
            yield f"/{_ROWS[row.kind]}/{escape_token(row.name)}", row.value
    outputs: dict[str, msgspec.Raw] = {}
    if run.projection.outputs is not None:
        outputs = msgspec.json.decode(run.projection.outputs, type=dict[str, msgspec.Raw])
    for node_id, value in outputs.items():
        yield f"/outputs/{escape_token(node_id)}", bytes(value)
