"""The states of runs after earlier events, with checkpoints for long logs.

Theory. The state after an event is the fold of the log up to it. For a long log that takes seconds, so the first look
at such a state folds the whole log once, in a task of its own, and keeps a copy of the state every CHECKPOINT_EVENTS
events. A look waits until the fold has passed its event, and then folds on from the last checkpoint before it. Later
looks therefore cost the same, wherever their event is in the log.

Checkpoints share the values that they hold (`state_copy`), and every value comes from an event. So the values of a
checkpoint that are not in the one before it are at most as large as the events between the two. If the checkpoints of a
run exceed MAX_RUN_BYTES, every second one is dropped. If those of all runs exceed MAX_BYTES, the runs that were not
looked at for the longest time lose theirs.
"""

import asyncio
from bisect import bisect_right
from collections import OrderedDict
from typing import Final

from weftwork.engine.run.loop_share import LoopShare
from weftwork.engine.run.replay import INPUTS_SEQUENCE, fold_log, initial_state, load_state
from weftwork.ports.storage.event_log import BEFORE_HEADER, EventLog
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.fold.state_copy import copy_state
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.protocol.workflow.plan import Plan

CHECKPOINT_EVENTS: Final = 2_000
"""Events between two checkpoints, as long as none was dropped. Folding them takes about 40 ms."""
MAX_RUN_BYTES: Final = 32 * 2**20
MAX_BYTES: Final = 64 * 2**20
MAX_CONCURRENT_FOLDS: Final = 1
"""Logs that are folded for checkpoints at the same time."""


class _Checkpoints:
    """The checkpoints of one run, and the task that adds to them."""

    __slots__ = ("adding", "folded", "interval", "passed", "sequences", "size", "sizes", "states")

    def __init__(self) -> None:
        self.sequences: list[int] = []
        self.states: list[RunState] = []
        self.sizes: list[int] = []
        self.size = 0
        self.interval = CHECKPOINT_EVENTS
        self.folded = -1
        """The last event that was folded."""
        self.adding: asyncio.Task[None] | None = None
        self.passed = asyncio.Event()
        """Set and replaced whenever `folded` grows."""

    def nearest(self, sequence: int) -> RunState | None:
        """The last checkpoint that is not after this event. The caller copies it before it folds on."""
        at = bisect_right(self.sequences, sequence)
        return self.states[at - 1] if at else None

    def add(self, state: RunState, folded_bytes: int) -> None:
        """Add a copy of the state, if one is due. `folded_bytes`: the size of the events since the last checkpoint."""
        if self.sequences and state.last_sequence < self.sequences[-1] + self.interval:
            return
        copied, size = copy_state(state)
        size += min(state.live_bytes, folded_bytes)
        self.sequences.append(state.last_sequence)
        self.states.append(copied)
        self.sizes.append(size)
        self.size += size
        while self.size > MAX_RUN_BYTES and len(self.states) > 1:
            # The last one stays, because the fold continues from it.
            for kept in (self.sequences, self.states, self.sizes):
                del kept[-2::-2]
            self.size = sum(self.sizes)
            self.interval *= 2


class EarlierStates:
    """Folds runs up to an event. One instance per host."""

    def __init__(self, log: EventLog, most: int, share: LoopShare | None = None) -> None:
        """`most`: the size of the largest state that is loaded."""
        self._log = log
        self._most = most
        self._share = share
        self._runs: OrderedDict[RunKey, _Checkpoints] = OrderedDict()
        self._fold_slots = asyncio.Semaphore(MAX_CONCURRENT_FOLDS)

    @property
    def size(self) -> int:
        """The rough memory of all checkpoints."""
        return sum([each.size for each in self._runs.values()])

    async def state_after(self, header: RunHeader, plan: Plan, sequence: int) -> RunState:
        """The state directly after an event of the log, which the caller may change.

        Raises RunTooLarge or StoreUnavailable.
        """
        if sequence < CHECKPOINT_EVENTS:
            return await load_state(self._log, header, plan, self._most, self._share, sequence)
        known = self._runs.get(header.key)
        if known is None:
            known = self._runs[header.key] = _Checkpoints()
        self._runs.move_to_end(header.key)
        await self._pass(known, header, plan, sequence - sequence % CHECKPOINT_EVENTS)
        state = await self._restore(known.nearest(sequence), header, plan)
        await self._fold_on(state, sequence)
        return state

    async def _restore(self, found: RunState | None, header: RunHeader, plan: Plan) -> RunState:
        """A copy of a checkpoint, or else the state before the first event."""
        if found is not None:
            return copy_state(found)[0]
        return initial_state(plan, header, await self._log.hidden_values(header.key, BEFORE_HEADER, INPUTS_SEQUENCE))

    async def _fold_on(self, state: RunState, until: int) -> int:
        """Fold up to an event, and return the size of what was folded. Reads no other hidden values than those of these
        events, because a long log may have many."""
        hidden = await self._log.hidden_values(state.header.key, max(state.last_sequence, INPUTS_SEQUENCE), until)
        return await fold_log(self._log, state, hidden, self._most, self._share, until)

    async def _pass(self, known: _Checkpoints, header: RunHeader, plan: Plan, sequence: int) -> None:
        """Wait until the log is folded up to an event, so that its checkpoints are there."""
        folded = None
        # A task that folds nothing more has reached the end of the log.
        while known.folded < sequence and folded != known.folded:
            if known.adding is None:
                known.adding = asyncio.create_task(self._add_checkpoints(known, header, plan))
                # Consumed here as well, because every caller that waits may have been cancelled.
                known.adding.add_done_callback(lambda task: task.cancelled() or task.exception())
            task = known.adding
            passed = asyncio.ensure_future(known.passed.wait())
            try:
                await asyncio.wait((task, passed), return_when=asyncio.FIRST_COMPLETED)
            finally:
                passed.cancel()
            if task.done():
                task.result()
                folded = known.folded

    async def _add_checkpoints(self, known: _Checkpoints, header: RunHeader, plan: Plan) -> None:
        """Fold the rest of the log. An error leaves the checkpoints that there are."""
        try:
            async with self._fold_slots:
                state = await self._restore(known.nearest(known.folded), header, plan)
                folded_bytes = 0
                is_last = False
                while not is_last:
                    until = state.last_sequence + CHECKPOINT_EVENTS
                    until -= until % CHECKPOINT_EVENTS
                    folded_bytes += await self._fold_on(state, until)
                    is_last = state.last_sequence < until
                    if not is_last:
                        known.add(state, folded_bytes)
                        folded_bytes = 0
                        self._evict(known)
                    known.folded = max(known.folded, state.last_sequence)
                    known.passed.set()
                    known.passed = asyncio.Event()
                    await asyncio.sleep(0)
        finally:
            known.adding = None

    def _evict(self, current: _Checkpoints) -> None:
        """Drop the checkpoints of the runs that were not looked at for the longest time."""
        size = self.size
        for run in list(self._runs):
            if size <= MAX_BYTES:
                return
            if (dropped := self._runs[run]) is not current and dropped.adding is None:
                size -= dropped.size
                del self._runs[run]
