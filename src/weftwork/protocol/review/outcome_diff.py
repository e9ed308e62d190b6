"""Compares two runs by their outcome: what they produced, and not how or in which order they got there.

The outcome of a run is its status, its error, its outputs, its final variables and channels, and of each node the
status, the error, and the outputs of the last time it completed. Runs whose branches finished in another order, or that
needed more attempts, have the same outcome. The outputs of nodes are in the log only, so both logs are read once: a
digest per node is kept. Only outputs with different digests are read again and compared.
"""

import hashlib
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from weftwork.protocol.json.pointers import escape_token
from weftwork.protocol.review.compared_form import ComparedForm, compared_run_ids
from weftwork.protocol.review.run_diff import StateDifferences, state_values
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import TERMINAL_STATUSES
from weftwork.protocol.run.payloads import NodeCompleted
from weftwork.protocol.run.projection import StoredRun

MAX_OUTCOME_BYTES: Final = 1_048_576
"""Bytes of values that differ byte by byte. A pair of values that exceeds the rest of this budget is neither compared
further nor included."""
MAX_OUTCOME_EVENTS: Final = 100_000
"""Events of each log that are read for the outputs of nodes."""
_COMPLETED: Final = "completed"


class _NodeRow(msgspec.Struct):
    status: str
    error: msgspec.Raw = msgspec.Raw(b"")
    """Empty if the node has no error."""


class _Outputs(msgspec.Struct):
    outputs: msgspec.Raw = msgspec.Raw(b"{}")


class LastOutputs:
    """The outputs of the last time that each node of a run completed, as digests. Add all events in order."""

    def __init__(self, form: ComparedForm) -> None:
        self._form = form
        self._found: dict[str, tuple[bytes, int]] = {}

    def add(self, event: Event) -> None:
        if event.type == NodeCompleted.event_type and event.node_id is not None:
            digest = hashlib.sha256(self._form.without_ids(event.payload)).digest()
            self._found[event.node_id] = digest, event.sequence

    def differing(self, other: "LastOutputs") -> Iterator[tuple[str, int | None, int | None]]:
        """The nodes whose outputs may differ, with the sequences of their events in both logs."""
        for node_id in sorted(self._found.keys() | other._found.keys()):
            one, two = self._found.get(node_id), other._found.get(node_id)
            if one is None or two is None or one[0] != two[0]:
                yield node_id, one and one[1], two and two[1]


class OutcomeDiff:
    """The changes of the outcome from run a to run b."""

    def __init__(self, a: StoredRun, b: StoredRun) -> None:
        self.form = ComparedForm(compared_run_ids(a.header, b.header))
        self._runs = a, b
        self._is_live = not {run.projection.status for run in self._runs} <= TERMINAL_STATUSES
        self._differences = StateDifferences(MAX_OUTCOME_BYTES)
        self._is_cut = False
        a_values, b_values = ({**dict(state_values(run)), **dict(_node_values(run))} for run in self._runs)
        self._completed = [
            {row.name for row in run.rows if row.kind == "node" and _node_row(row.value).status == _COMPLETED}
            for run in self._runs
        ]
        self._differences.add_all(a_values, b_values, self.form, ordered_channels=False)

    def cut_events(self) -> None:
        """Record that a log was not read to its end."""
        self._is_cut = True

    def add_outputs(self, node_id: str, a: Event | None, b: Event | None) -> None:
        """Compare the outputs of a node that has completed, from the events of its last completion."""
        pointer = f"/nodes/{escape_token(node_id)}/outputs"
        values = [
            {pointer: bytes(_decode_outputs(event.payload).outputs)} if event and node_id in completed else {}
            for event, completed in zip((a, b), self._completed, strict=True)
        ]
        self._differences.add_all(values[0], values[1], self.form)

    def document(self) -> dict[str, Any]:
        """diff-06: the comparison. `same` is null if no difference was found and the comparison is not complete."""
        pairs = self._differences.pairs
        is_complete = not (self._is_live or self._is_cut or self._differences.is_truncated)
        return {
            "a": self._runs[0].header.run_id,
            "b": self._runs[1].header.run_id,
            "same": False if pairs else True if is_complete else None,
            "differences": [{"pointer": pointer, **pair} for pointer, pair in sorted(pairs.items())],
            "truncated": not is_complete,
        }


def _node_values(run: StoredRun) -> Iterator[tuple[str, bytes]]:
    """diff-06: the error of the run, and the status and error of each node."""
    if run.projection.error is not None:
        yield "/error", run.projection.error
    for row in run.rows:
        if row.kind == "node":
            node, pointer = _node_row(row.value), f"/nodes/{escape_token(row.name)}"
            yield f"{pointer}/status", msgspec.json.encode(node.status)
            if error := bytes(node.error):
                yield f"{pointer}/error", error


_node_row: Final = msgspec.json.Decoder(_NodeRow).decode
_decode_outputs: Final = msgspec.json.Decoder(_Outputs).decode
