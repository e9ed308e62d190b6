"""Gathering: inputs of a live run, followed as far as they lead without waiting, for one commit."""

import asyncio
from collections import deque
from typing import Final

from weftwork.engine.activity import Activity
from weftwork.engine.append import Append
from weftwork.engine.decide import decide
from weftwork.engine.decision import NOTHING, Bounds
from weftwork.engine.inbox import Inbox
from weftwork.engine.inputs import CancelAsked, Input, NodeAwaits, Step
from weftwork.engine.work import Work
from weftwork.ports.clock import Clock
from weftwork.protocol.redaction import Redactor
from weftwork.protocol.state import RunState

TURN_MS: Final = 10
"""Milliseconds after which a batch is closed, so that others get a turn."""
MAX_BATCH: Final = 256
"""Events per append: a long chain of pure nodes commits and yields now and then."""
EARLY_TURNS: Final = 6
"""Turns of the event loop in which a node that waits for nothing has run, in tasks of its own, and has reported."""
THREAD_SECONDS: Final = 0.002
"""How long a commit waits for pure nodes that hold threads: most are quicker, and save a commit of their own."""


async def gather_all(
    state: RunState,
    bounds: Bounds,
    inbox: Inbox,
    activity: Activity,
    clock: Clock,
    redactor: Redactor | None,
    claims: bool,
    threads: bool,
) -> Work:
    """All that can be done before the next commit. Pure nodes need none before they run, so quick ones share it.

    Without `claims` none is made: it may stay unknown for a while whether the run is there. Without `threads` it may
    well be refused, and none is taken, since none could be taken back.
    """
    now = clock.now()
    work = Work(Append(state, redactor, now, bounds.duration), now)
    gather(work, state, bounds, inbox, activity, clock)
    while not work.cut and (held := activity.launch_early(state, work, threads)) is not None:
        if held:
            await inbox.filled(THREAD_SECONDS)
        for _ in range(EARLY_TURNS):
            if inbox:
                break
            await asyncio.sleep(0)
        if not inbox or (inbox.has_claims and not claims):
            break
        gather(work, state, bounds, inbox, activity, clock)
    return work


def gather(work: Work, state: RunState, bounds: Bounds, inbox: Inbox, activity: Activity, clock: Clock) -> None:
    """Take inputs, decide, fold, and run instant nodes on the spot, until nothing is left or the batch is full."""
    outcomes: deque[Input] = deque()
    work.cut = True
    append = work.append
    while len(append) < MAX_BATCH and state.completed_at is None:
        given = outcomes.popleft() if outcomes else inbox.take(work)
        decision = decide(state, bounds, given)
        if state.owed and isinstance(given, NodeAwaits) and decision is NOTHING:
            # It was called, and had nothing to do.
            state.owed.discard(given.node_id)
        for draft in decision.events:
            append.add(draft)
        if decision.start is not None:
            outcome = activity.instant(state, decision.start)
            if outcome is None:
                work.launches.append(decision.start)
            else:
                outcomes.append(outcome)
        if decision.looks:
            work.launches += decision.looks
        if decision.stop or decision.interrupt or decision.refusal is not None:
            work.note(given, decision)
        if (decision.stop or decision is NOTHING) and isinstance(given, Step):
            work.cut = False
            break
        if len(append) and clock.now() - work.began > TURN_MS:
            break
    inbox.put_back(outcomes)
    stop = state.stop
    if work.asks(CancelAsked) and stop is not None and stop.error is not None:
        # A limit is ending the run already: how it ends is the answer.
        work.request = None
