"""Waking cold: a run's state from its log, with hidden values resolved; and all runs that a host left unfinished."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any, Final

import msgspec

from weftwork.engine.catalog import Catalog
from weftwork.engine.runtime import Runtime
from weftwork.ports.eventlog import EventLog, Stored, StoreUnavailable
from weftwork.ports.faults import point
from weftwork.protocol.errors import ClientFault, HostFault
from weftwork.protocol.events import Event, Fact
from weftwork.protocol.fold import apply
from weftwork.protocol.graph import Plan
from weftwork.protocol.redaction import reveal
from weftwork.protocol.run import TERMINAL, RunHeader, RunKey
from weftwork.protocol.state import RunState

log = logging.getLogger("weftwork.run")

RECOVERY_PAGE: Final = 100
"""Runs that are woken together when the host starts."""
UNMOVED_SECONDS: Final = 60
LEARNT: Final = 256
"""Hidden values of a log from which copies are known again."""
PAGE: Final = 1000
PAGE_BYTES: Final = 4 * 2**20


async def recover_all(eventlog: EventLog, wake: Callable[[RunKey], Awaitable[bool]]) -> int:
    """Go on with every run that is neither over nor parked. Returns how many went on. Raises StoreUnavailable."""
    count = 0
    after: RunKey | None = None
    while page := await eventlog.unfinished(after, RECOVERY_PAGE):
        # Together: one after the other, each would wait for the store alone.
        count += sum(await asyncio.gather(*map(wake, page)))
        after = page[-1]
    return count


async def recovered(wake: Callable[[RunKey], Awaitable[object]], run: RunKey) -> bool:
    """Whether the run goes on. One that cannot be understood must not keep all the others from starting."""
    try:
        point("recover.run")
        return await wake(run) is not None
    except StoreUnavailable:
        raise
    except Exception:
        log.exception("run left as it is: its log cannot be folded", extra={"runId": run.run_id})
        return False


async def why_not(catalog: Catalog, stored: Stored) -> Exception:
    """Why a run cannot be moved here: most likely it needs node types that the host was started without."""
    try:
        await catalog.pinned(stored.header.workflow_id, stored.header.definition)
    except HostFault as fault:
        message = f"This host cannot go on with the run: {fault}. Start it with what the run needs."
        return ClientFault("service_unavailable", message, {"retryAfter": UNMOVED_SECONDS})
    return HostFault(f"the run {stored.header.run_id} cannot be woken")


async def load_state(
    eventlog: EventLog, header: RunHeader, plan: Plan, weigh: Callable[[int], None] = lambda weight: None
) -> RunState:
    """Fold the whole log; `weigh` is told what each event weighs. Raises StoreUnavailable."""
    removed: defaultdict[int, list[tuple[str, Any]]] = defaultdict(list)
    if plan.guarded:
        for hidden in await eventlog.hidden(header.key):
            removed[hidden.sequence].append((hidden.pointer, msgspec.json.decode(hidden.value)))
    # A deep copy: readers are shown the header, which keeps its masks.
    inputs: dict[str, Any] = reveal(deepcopy(header.inputs), removed[-1])
    state = RunState(plan, header, inputs)
    state.hidden = [value for number in sorted(removed) for at, value in removed[number] if _is_learnt(number, at)]
    del state.hidden[LEARNT:]
    while page := await eventlog.read(header.key, state.last_sequence, PAGE, PAGE_BYTES):
        for event in page:
            weigh(event.weight)
            apply(state, fact_of(event, removed.get(event.sequence, ())))
    return state


def _is_learnt(sequence: int, pointer: str) -> bool:
    """Whether the redactor learnt this when it was hidden: inputs, variables and outputs, and not the words in which a
    node that hides what it makes spoke of them."""
    return sequence == -1 or pointer == "/next" or pointer.startswith(("/outputs/", "/inputs/"))


async def load_patiently(runtime: Runtime, catalog: Catalog, run: RunKey) -> RunState | None:
    """The state of a run that has not ended, however long the store takes to give it; None if there is no such run."""
    while True:
        try:
            stored = await runtime.log.stored(run)
            if stored is None or stored.projection.status in TERMINAL:
                return None
            plan = await catalog.pinned(stored.header.workflow_id, stored.header.definition)
            return await load_state(runtime.log, stored.header, plan)
        except StoreUnavailable:
            await runtime.clock.sleep_until(runtime.clock.now() + 1000)


def log_end(state: RunState) -> None:
    """One line for the host's operator."""
    header, code = state.header, state.error["code"] if state.error else None
    known = {"runId": header.run_id, "tenant": header.owner.tenant, "status": state.status, "errorCode": code}
    log.info("run ended", extra=known)


async def read_again(
    runtime: Runtime, state: RunState, pause: bool, away: Callable[[], None], is_over: Callable[[], bool]
) -> tuple[Stored | None, RunState] | None:
    """A run as the store has it, however long that takes; None if it is over with it first.

    `away` is told each time the store is not there, and it is given a second; with `pause` before the first look.
    """
    while not is_over():
        if pause:
            log.warning("store unavailable, trying again in a second", extra={"runId": state.header.run_id})
            away()
            await runtime.clock.sleep_until(runtime.clock.now() + 1000)
        try:
            stored = await runtime.log.stored(state.header.key)
            return stored, await load_state(runtime.log, state.header, state.plan)
        except StoreUnavailable:
            pause = True
    return None


def fact_of(event: Event, removed: Any = ()) -> Fact:
    """A stored event as the fold sees it."""
    payload = reveal(msgspec.json.decode(event.payload), removed)
    return Fact(
        event.sequence, event.type, payload, event.timestamp, event.node_id, event.event_id, event.content_trust
    )
