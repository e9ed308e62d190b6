"""The learner: what a run keeps hidden, learnt from its log, to find copies of it in texts from elsewhere."""

import asyncio
from collections import OrderedDict
from typing import Any, Final

from weftwork.engine.recover import load_state
from weftwork.ports.eventlog import EventLog, Stored
from weftwork.protocol.graph import Plan
from weftwork.protocol.redaction import COPY, Redactor, mask
from weftwork.protocol.run import RunKey

RUNS_KEPT: Final = 64
"""Runs whose hidden texts are kept; those of one run are few and short, whatever the run holds."""


class Learner:
    """Hides in a text what its run hides. One log is learnt from at a time, and again only when it has grown."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._turn = asyncio.Semaphore(1)
        self._kept: OrderedDict[RunKey, tuple[int, Redactor]] = OrderedDict()

    async def shown(self, run: Stored, plan: Plan | None, texts: dict[str, str]) -> dict[str, Any]:
        """The texts, with copies of what the run hides masked. Without its plan, all of them if it hides anything."""
        if plan is None:
            hidden = await self._log.hidden(run.header.key)
            return {name: mask(COPY) for name in texts} if hidden else texts
        if not plan.guarded or not texts:
            return texts
        async with self._turn:
            redactor = await self._redactor(run, plan)
        return redactor.shown_value(texts)

    async def _redactor(self, run: Stored, plan: Plan) -> Redactor:
        key = run.header.key
        last, redactor = self._kept.get(key, (-2, None))
        if redactor is None or last < run.projection.last_sequence:
            state = await load_state(self._log, run.header, plan)
            redactor = Redactor(plan)
            redactor.learn_inputs(state.inputs)
            redactor.learn_state(state)
            self._kept[key] = state.last_sequence, redactor
        self._kept.move_to_end(key)
        if len(self._kept) > RUNS_KEPT:
            self._kept.popitem(last=False)
        return redactor
