"""Waking cold: a run's state from its log, with hidden values resolved."""

from collections import defaultdict
from copy import deepcopy
from typing import Any, Final

import msgspec

from weftwork.ports.eventlog import EventLog
from weftwork.protocol.events import Event, Fact
from weftwork.protocol.fold import apply
from weftwork.protocol.graph import Plan
from weftwork.protocol.redaction import reveal
from weftwork.protocol.run import RunHeader
from weftwork.protocol.state import RunState

LEARNT: Final = 256
"""Hidden values of a log from which copies are known again."""
PAGE: Final = 1000
PAGE_BYTES: Final = 4 * 2**20


async def load_state(log: EventLog, header: RunHeader, plan: Plan) -> RunState:
    """Fold the whole log. Raises StoreUnavailable."""
    removed: defaultdict[int, list[tuple[str, Any]]] = defaultdict(list)
    if plan.guarded:
        for hidden in await log.hidden(header.key):
            removed[hidden.sequence].append((hidden.pointer, msgspec.json.decode(hidden.value)))
    # A deep copy: readers are shown the header, which keeps its masks.
    inputs: dict[str, Any] = reveal(deepcopy(header.inputs), removed[-1])
    state = RunState(plan, header, inputs)
    state.hidden = [value for sequence in sorted(removed) for _, value in removed[sequence]][:LEARNT]
    while page := await log.read(header.key, state.last_sequence, PAGE, PAGE_BYTES):
        for event in page:
            apply(state, fact_of(event, removed.get(event.sequence, ())))
    return state


def fact_of(event: Event, removed: Any = ()) -> Fact:
    """A stored event as the fold sees it."""
    payload = reveal(msgspec.json.decode(event.payload), removed)
    return Fact(event.sequence, event.type, payload, event.timestamp, event.node_id, event.event_id)
