"""Rebuilds the state of a run from its event log, with hidden values restored."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, Final

import msgspec

from weftwork.engine.run.loop_share import LoopShare
from weftwork.engine.runtime import Runtime
from weftwork.ports.storage.event_log import BEFORE_HEADER, EventLog, StoreUnavailable, WholeRun
from weftwork.protocol.fold.fold import apply
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.pointers import escape_token
from weftwork.protocol.limits import LOOP_SLICE_UNITS, STATE_TOO_LARGE
from weftwork.protocol.privacy.credential_patterns import may_hold_credential
from weftwork.protocol.privacy.redaction import hidden_places, hidden_urls, reveal
from weftwork.protocol.run.batch import MAX_SEQUENCE, HiddenValue
from weftwork.protocol.run.events import Event, Fact
from weftwork.protocol.run.header import RunHeader, RunKey
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


INPUTS_SEQUENCE: Final = -1
"""The sequence of the hidden values of the inputs."""


class RunTooLarge(Exception):
    """A run cannot be loaded, because it exceeds the limit of this code."""

    def __init__(self, code: str, observed: int) -> None:
        super().__init__(f"{code}: {observed:,} bytes")
        self.code = code
        self.observed = observed


async def load_state(
    eventlog: EventLog,
    header: RunHeader,
    plan: Plan,
    most: int | None = None,
    share: LoopShare | None = None,
    until: int | None = None,
) -> RunState:
    """Fold the log, page by page: no more than one page of it is in memory.

    With `until`, only events with sequence <= `until` are folded, and hidden values of later events are not learnt: the
    state is that of a log that ends there. With `share`, waits for turns on the event loop between costly conditions.
    Raises RunTooLarge as soon as the state is larger than `most`, if that is set, and StoreUnavailable.
    """
    bounds = () if until is None else (BEFORE_HEADER, until)
    hidden = await eventlog.hidden_values(header.key, *bounds)
    state = initial_state(plan, header, hidden)
    await fold_log(eventlog, state, hidden, most, share, until)
    return state


async def fold_whole(whole: WholeRun, plan: Plan, most: int | None = None, share: LoopShare | None = None) -> RunState:
    """The state of a run that was read at once; arguments and errors as for `load_state`."""
    state = initial_state(plan, whole.stored.header, whole.hidden)
    removed = hidden_by_event(whole.hidden, state.last_sequence, MAX_SEQUENCE)
    await _fold_page(state, whole.events, removed, most, share, state.condition_units)
    del state.hidden_variables[:-MAX_LEARNT_VALUES]
    return state


def initial_state(plan: Plan, header: RunHeader, hidden: list[HiddenValue]) -> RunState:
    """The state of a run before its first event, with the hidden values of its inputs restored."""
    removed = HiddenOfEvent(each for each in hidden if each.sequence == INPUTS_SEQUENCE)
    # A deep copy, because the header is shown to readers and must keep its masks.
    inputs: dict[str, Any] = header.first_inputs
    if removed.values:
        inputs = reveal(deepcopy(inputs), removed.values)
    state = RunState(plan, header, inputs)
    _learn_hidden(state, removed, frozenset(f"/{escape_token(name)}" for name in plan.sensitive_variables))
    return state


async def fold_log(
    eventlog: EventLog,
    state: RunState,
    hidden: list[HiddenValue],
    most: int | None = None,
    share: LoopShare | None = None,
    until: int | None = None,
    source: RunKey | None = None,
) -> int:
    """Fold the events after `state.last_sequence` into the state; arguments and errors as for `load_state`. Returns the
    size of these events.

    The log is that of `source`, if the state is that of a replay, else that of the run. `hidden` holds at least the
    hidden values of these events, ordered by sequence.
    """
    key, last = source or state.header.key, MAX_SEQUENCE if until is None else until
    removed = hidden_by_event(hidden, state.last_sequence, last)
    units = state.condition_units
    total = 0
    is_first = True
    while state.last_sequence < last:
        limit = min(REPLAY_PAGE_EVENTS, last - state.last_sequence)
        page = await eventlog.read(key, state.last_sequence, limit, REPLAY_PAGE_BYTES)
        # Only a page that reaches a bound can have others behind it, so a short log is one read and not two.
        size = sum([each.size for each in page])
        total += size
        if len(page) < limit and size < REPLAY_PAGE_BYTES:
            last = page[-1].sequence if page else state.last_sequence
        if not is_first:
            # Folding a page may take long, and the store may answer without yielding.
            await asyncio.sleep(0)
        is_first = False
        units = await _fold_page(state, page, removed, most, share, units)
    del state.hidden_variables[:-MAX_LEARNT_VALUES]
    return total + sum([each.size for each in removed.values()])


async def _fold_page(
    state: RunState,
    page: list[Event],
    removed: dict[int, "HiddenOfEvent"],
    most: int | None,
    share: LoopShare | None,
    units: int,
) -> int:
    """Fold these events. `units` is the cost of conditions at the last turn; returns it for the next page."""
    for event in page:
        fold_event(state, event, removed.get(event.sequence))
        if most is not None and state.live_bytes > most:
            raise RunTooLarge(STATE_TOO_LARGE, state.live_bytes)
        if share is not None and state.condition_units - units >= MAX_UNITS_PER_TURN:
            units = state.condition_units
            await share.turn(state.header.partition, MAX_UNITS_PER_TURN)
    return units


def fold_event(state: RunState, event: Event, hidden: "HiddenOfEvent | None") -> Fact:
    """Fold one event into the state; returns the event with its hidden values restored."""
    if hidden is None:
        fact = fact_of_event(event)
        apply(state, fact)
        return fact
    plan = state.plan
    fact = fact_of_event(event, hidden.values, hidden.size)
    _learn_hidden(state, hidden, hidden_places(plan, fact))
    if event.type == VariableChanged.event_type and fact.payload["name"] in plan.sensitive_variables:
        state.hidden_variables.append((fact.payload["name"], fact.payload.get("next")))
    state.hidden_media += hidden_urls(event.type, hidden.values)
    apply(state, fact)
    return fact


def hidden_by_event(hidden: list[HiddenValue], after: int, last: int) -> dict[int, "HiddenOfEvent"]:
    """The hidden values of the events after `after`, up to `last`, by sequence."""
    removed: defaultdict[int, HiddenOfEvent] = defaultdict(HiddenOfEvent)
    for each in hidden:
        if after < each.sequence <= last:
            removed[each.sequence].add(each)
    return removed


class HiddenOfEvent:
    """The hidden values of one event by pointer, their size, and those among them that may hold a credential."""

    __slots__ = ("credentials", "size", "values")

    def __init__(self, hidden: Iterable[HiddenValue] = ()) -> None:
        self.values: list[tuple[str, Any]] = []
        self.credentials: list[Any] = []
        self.size = 0
        for each in hidden:
            self.add(each)

    def add(self, hidden: HiddenValue) -> None:
        value = msgspec.json.decode(hidden.value)
        self.values.append((hidden.pointer, value))
        self.size += len(hidden.value)
        if may_hold_credential(hidden.value):
            self.credentials.append(value)


def _learn_hidden(state: RunState, hidden: HiddenOfEvent, places: frozenset[str]) -> None:
    """Add what the redactor had learnt from an event to the state: credentials, and the values at these places. Other
    members were hidden because they contain a copy, or as a whole, and were not learnt."""
    if hidden.credentials:
        state.hidden_credentials += hidden.credentials[: MAX_LEARNT_VALUES - len(state.hidden_credentials)]
    if places and len(state.hidden_values) < MAX_LEARNT_VALUES:
        learnt = [value for at, value in hidden.values if at in places]
        state.hidden_values += learnt[: MAX_LEARNT_VALUES - len(state.hidden_values)]


async def reload_run(
    runtime: Runtime, state: RunState, pause: bool, away: Callable[[], None], is_over: Callable[[], bool]
) -> tuple[StoredRun | None, RunState] | None:
    """The stored run and its folded state. Retries until the store answers; None if `is_over` is true before that.

    Each time the store is unavailable, `away` is called, and the next attempt waits for STORE_RETRY_MS. With `pause`
    the first attempt waits as well.
    """
    while not is_over():
        if pause:
            log.warning("store unavailable, retrying in a second", extra=state.header.key.log_fields)
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
