"""The times of interrupts in the log of a replay, for the rows that readers see.

The state of a replay has the times of its source. Rows are what the fold of the log of the replay would give, so
interrupts have the times at which the replay has repeated them.
"""

from typing import Any

import msgspec

from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.canonical import encode_recorded
from weftwork.protocol.run.projection import StateRow
from weftwork.protocol.timestamps import iso, parse_iso


class InterruptTimes(msgspec.Struct, eq=False):
    """When the interrupts of a replay were requested, and those with a key resolved, in the time of the replay."""

    _requested: dict[str, int] = {}
    _resolved: dict[str, int] = {}

    def requested(self, name: str, at: int) -> None:
        self._requested[name] = at

    def resolved(self, key: str, at: int) -> None:
        self._resolved[key] = at

    def learn(self, rows: tuple[StateRow, ...]) -> None:
        """Take over the times of rows that the replay wrote earlier, or that are in its prefix."""
        for row in rows:
            if row.kind == "interrupt":
                document: dict[str, Any] = msgspec.json.decode(row.value)
                if (at := parse_iso(document["requestedAt"])) is not None:
                    self.requested(row.name, at)
                if (at := parse_iso(document.get("resolvedAt", ""))) is not None:
                    self.resolved(document["key"], at)

    def apply(self, state: RunState, rows: tuple[StateRow, ...]) -> tuple[StateRow, ...]:
        """The rows of a state with these times."""
        if not self._requested:
            return rows
        return tuple([self._with_times(state, row) if row.kind == "interrupt" else row for row in rows])

    def _with_times(self, state: RunState, row: StateRow) -> StateRow:
        document: dict[str, Any] = msgspec.json.decode(row.value)
        interrupt = state.interrupts[row.name]
        requested = self._requested.get(row.name, interrupt.requested_at)
        due = None if interrupt.timeout_ms is None else requested + interrupt.timeout_ms
        document["requestedAt"] = iso(requested)
        if "dueAt" in document and due is not None:
            document["dueAt"] = iso(due)
        if "resolvedAt" in document and (at := self._resolved.get(interrupt.key)) is not None:
            document["resolvedAt"] = iso(at)
        listing = row.listing
        if listing is not None:
            listing = msgspec.structs.replace(
                listing, requested_at=requested, due=due if listing.due is not None else None
            )
        return msgspec.structs.replace(row, value=encode_recorded(document), listing=listing)
