"""Collects the events of the next commit of a run: takes inputs, decides, folds, and runs instant and pure nodes.

A batch is closed when nothing is left to do without waiting, or when it is large or took long, so that other runs and
requests get the event loop. The few events that follow a request are in its batch, however long they took: the response
to the request has the status after them.
"""

import asyncio
from collections import deque
from typing import Final

from weftwork.engine.decide.decision import NOTHING, RunBounds
from weftwork.engine.decide.inputs import CancelRequested, Input, NodeAwaitsChildren, Step
from weftwork.engine.decide.transitions import decide
from weftwork.engine.nodes.run_clock import NS_PER_MS, RunClock
from weftwork.engine.run.activity import Activity
from weftwork.engine.run.append import MAX_BATCH_EVENTS, BatchBuilder
from weftwork.engine.run.budget import RunBudget, add_within_limits
from weftwork.engine.run.pending_commit import Inbox, PendingCommit
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.limits import LOOP_SLICE_UNITS

MAX_BATCH_MS: Final = 10  # after which a batch is closed
SHARED_BATCH_MS: Final = 1
"""The same while requests or other runs want the event loop, and for the batch that creates a run."""
SHARED_BATCH_EVENTS: Final = 16  # half a millisecond on the loop, and about as long in the thread of the store
REQUEST_BATCH_EVENTS: Final = SHARED_BATCH_EVENTS
REQUEST_BATCH_BYTES: Final = 64 * 1024
"""Time does not close a batch with a request before it is larger than this. While the thread waits for the processor or
for the interpreter lock, every limit passes: then the response would say `running` for a run that ends with the next
few events, and a cancel could come in between."""
MAX_BATCH_UNITS: Final = LOOP_SLICE_UNITS // 2
"""Cost of conditions after which a batch is closed. The conditions behind one node cost up to a slice more."""
EARLY_LOOP_TURNS: Final = 6
"""Iterations of the event loop within which a pure node that awaits no I/O has run and reported its outcome."""
THREAD_WAIT_S: Final = 0.002
"""How long a commit waits for pure nodes in threads. Most are quicker, and then need no commit of their own."""


async def collect_commit(
    state: RunState,
    bounds: RunBounds,
    inbox: Inbox,
    activity: Activity,
    clock: RunClock,
    budget: RunBudget,
    is_shared: bool,
    claims: bool,
    threads: bool,
) -> PendingCommit:
    """Collect the events of the next commit, which all have the same time. Pure nodes run before it, so the
    quick ones share it.

    `is_shared`: others want the event loop. Without `claims`, this is the first batch of a new run, and effects and
    child runs are not claimed, because the store may not have the run. Without `threads`, pure nodes get no thread,
    because the creation of the run may be refused and a thread cannot be stopped.
    """
    now = clock.stamp()
    max_events = SHARED_BATCH_EVENTS if is_shared and claims else MAX_BATCH_EVENTS
    max_ms = SHARED_BATCH_MS if is_shared or not claims else MAX_BATCH_MS
    builder = BatchBuilder(state, activity.runner.redactor, now, bounds.duration, budget.room(state), max_events)
    work = PendingCommit(builder, now, clock.monotonic_ns() + max_ms * NS_PER_MS)
    collect_inputs(work, state, bounds, inbox, activity, clock, budget)
    while (
        work.launches
        and not work.is_partial
        and (uses_threads := activity.launch_pure(state, work, threads)) is not None
    ):
        if uses_threads:
            await inbox.wait_filled(THREAD_WAIT_S)
        for _ in range(EARLY_LOOP_TURNS):
            if inbox:
                break
            await asyncio.sleep(0)
        if not inbox or (inbox.has_claims and not claims):
            break
        collect_inputs(work, state, bounds, inbox, activity, clock, budget)
    return work


def collect_inputs(
    work: PendingCommit,
    state: RunState,
    bounds: RunBounds,
    inbox: Inbox,
    activity: Activity,
    clock: RunClock,
    budget: RunBudget,
) -> None:
    """Take inputs, decide, fold, and run instant nodes inline, until nothing is left or the batch is full."""
    outcomes: deque[Input] = deque()
    work.is_partial = True
    append = work.builder
    max_units = state.condition_units + MAX_BATCH_UNITS
    while not append.is_full and state.completed_at is None:
        input_ = outcomes.popleft() if outcomes else inbox.take(work)
        decision = decide(state, bounds, input_)
        if state.pending_calls and isinstance(input_, NodeAwaitsChildren) and decision is NOTHING:
            # The node was called and had nothing to do, so no event will clear the pending call.
            state.pending_calls.discard(input_.node_id)
        if decision.events and not append.add(decision.events):
            decision = add_within_limits(append, state, input_, decision, budget)
        # The first credential that a run receives gives it a redactor, which its nodes need as well.
        activity.runner.redactor = append.redactor
        if decision.start is not None:
            outcome = activity.run_instant(state, decision.start)
            if outcome is None:
                work.launches.append(decision.start)
            else:
                outcomes.append(outcome)
        if decision.rechecks:
            work.launches += decision.rechecks
        if decision.stop or decision.interrupt or decision.refusal is not None or decision.drops_stale:
            work.apply_decision(input_, decision)
        if (decision.stop or decision is NOTHING) and isinstance(input_, Step):
            work.is_partial = False
            break
        if append.size and (
            (clock.monotonic_ns() > work.closes_at and not _may_take_longer(work)) or state.condition_units > max_units
        ):
            break
    if outcomes:
        inbox.put_back(outcomes)
    stop = state.stop
    if stop is not None and stop.error is not None and work.has_request(CancelRequested):
        # A limit is already ending the run. The cancel request gets no result of its own: the final status answers it.
        work.request = None


def _may_take_longer(work: PendingCommit) -> bool:
    """Whether the batch has a request and few events, so that time does not close it yet."""
    builder = work.builder
    return work.request is not None and len(builder) < REQUEST_BATCH_EVENTS and builder.size < REQUEST_BATCH_BYTES
