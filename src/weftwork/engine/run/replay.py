"""Rebuilds the state of a run from its event log, with hidden values restored."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final

import msgspec

from weftwork.engine.run.loop_share import LoopShare
from weftwork.engine.runtime import Runtime
from weftwork.ports.storage.event_log import EventLog, StoreUnavailable
from weftwork.protocol.fold.fold import apply
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.limits import LOOP_SLICE_UNITS, STATE_TOO_LARGE
from weftwork.protocol.privacy.credential_patterns import may_hold_credential
from weftwork.protocol.privacy.redaction import hidden_urls, reveal
from weftwork.protocol.run.events import Event, Fact
from weftwork.protocol.run.header import RunHeader
from weftwork.protocol.run.payloads import VariableChanged
from weftwork.protocol.run.projection import StoredRun
from weftwork.protocol.workflow.plan import Plan

log = logging.getLogger("weftwork.run")

MAX_LEARNT_VALUES: Final = 256
"""Hidden values of a log that the redactor learns again after a restart, to find copies of them in new events."""
REPLAY_PAGE_EVENTS: Final = 1000
REPLAY_PAGE_BYTES: Final = 4 * 2**20
MAX_UNITS_PER_TURN: Final = LOOP_SLICE_UNITS // 2
"""Cost of conditions after which a replay yields. The conditions behind one node cost up to a slice more."""


class RunTooLarge(Exception):
    """A run cannot be loaded, because it exceeds the limit of this code."""

    def __init__(self, code: str, observed: int) -> None:
        super().__init__(f"{code}: {observed:,} bytes")
        self.code = code
        self.observed = observed


async def load_state(
    eventlog: EventLog, header: RunHeader, plan: Plan, most: int | None = None, share: LoopShare | None = None
) -> RunState:
    """Fold the whole log, page by page: no more than one page of it is in memory.

    With `share`, waits for turns on the event loop between costly conditions. Raises RunTooLarge as soon as the state
    is larger than `most`, if that is set, and StoreUnavailable.
    """
    removed: defaultdict[int, list[tuple[str, Any]]] = defaultdict(list)
    hidden_bytes: defaultdict[int, int] = defaultdict(int)
    credentials: list[Any] = []
    for hidden in await eventlog.hidden_values(header.key):
        value = msgspec.json.decode(hidden.value)
        removed[hidden.sequence].append((hidden.pointer, value))
        hidden_bytes[hidden.sequence] += len(hidden.value)
        if len(credentials) < MAX_LEARNT_VALUES and may_hold_credential(hidden.value):
            credentials.append(value)
    inputs = header.inputs
    if -1 in removed:
        # A deep copy, because the header is shown to readers and must keep its masks.
        inputs: dict[str, Any] = reveal(deepcopy(header.inputs), removed[-1])
    state = RunState(plan, header, inputs)
    state.hidden_credentials = credentials
    # Restore what the redactor had learnt: inputs, variables and outputs. Other members, such as messages of nodes that
    # hide their outputs, were hidden as a whole and not learnt.
    state.hidden_values = [
        value
        for number in sorted(removed)
        for at, value in removed[number]
        if plan.has_sensitive_data and (number == -1 or at == "/next" or at.startswith(("/outputs/", "/inputs/")))
    ]
    del state.hidden_values[MAX_LEARNT_VALUES:]
    units = 0
    is_last = False
    while not is_last:
        page = await eventlog.read(header.key, state.last_sequence, REPLAY_PAGE_EVENTS, REPLAY_PAGE_BYTES)
        # Only a page that reaches a bound can have others behind it, so a short log is one read and not two.
        is_last = len(page) < REPLAY_PAGE_EVENTS and sum([each.size for each in page]) < REPLAY_PAGE_BYTES
        if state.last_sequence >= 0:
            # Folding a page may take long, and the store may answer without yielding.
            await asyncio.sleep(0)
        for event in page:
            fact = fact_of_event(event, removed.get(event.sequence, ()), hidden_bytes.get(event.sequence, 0))
            if event.type == VariableChanged.event_type and event.sequence in removed:
                state.hidden_variables.append((fact.payload["name"], fact.payload.get("next")))
            if event.sequence in removed:
                state.hidden_media += hidden_urls(event.type, removed[event.sequence])
            apply(state, fact)
            if most is not None and state.live_bytes > most:
                raise RunTooLarge(STATE_TOO_LARGE, state.live_bytes)
            if share is not None and state.condition_units - units >= MAX_UNITS_PER_TURN:
                units = state.condition_units
                await share.turn(header.partition, MAX_UNITS_PER_TURN)
    del state.hidden_variables[:-MAX_LEARNT_VALUES]
    return state


async def reload_run(
    runtime: Runtime, state: RunState, pause: bool, away: Callable[[], None], is_over: Callable[[], bool]
) -> tuple[StoredRun | None, RunState] | None:
    """The stored run and its folded state. Retries until the store answers; None if `is_over` is true before that.

    Each time the store is unavailable, `away` is called, and the next attempt waits for STORE_RETRY_MS. With `pause`
    the first attempt waits as well.
    """
    while not is_over():
        if pause:
            log.warning("store unavailable, retrying in a second", extra={"runId": state.header.run_id})
            away()
            await runtime.wait_for_store()
        try:
            stored = await runtime.log.read_run(state.header.key)
            return stored, await load_state(runtime.log, state.header, state.plan, share=runtime.loop_share)
        except StoreUnavailable:
            pause = True
    return None


def fact_of_event(event: Event, removed: Any = (), hidden_bytes: int = 0) -> Fact:
    """A stored event as the fold reads it, with the `removed` values of this size restored."""
    payload = reveal(msgspec.json.decode(event.payload), removed)
    return Fact(
        event.sequence,
        event.type,
        payload,
        event.timestamp,
        event.node_id,
        event.event_id,
        event.content_trust,
        len(event.payload) + hidden_bytes,
    )
