"""The span recorder: spans of runs that were asked for, projected from their logs and kept while there is room."""

from collections import OrderedDict
from typing import Any, Final

from weftwork.engine.recover import PAGE, PAGE_BYTES, fact_of
from weftwork.ports.eventlog import EventLog, Stored
from weftwork.protocol.events import Fact
from weftwork.protocol.run import TERMINAL, RunKey
from weftwork.protocol.spans import spans

RUNS_KEPT: Final = 256
EVENTS_READ: Final = 10_000


class SpanRecorder:
    """Bounded: at most RUNS_KEPT ended runs in memory, and at most EVENTS_READ events read for one run.

    Nothing is recorded while a run goes on, so tracing costs a run nothing; what falls out of memory is
    projected again from the log, and comes out equal.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._kept: OrderedDict[RunKey, list[dict[str, Any]]] = OrderedDict()

    async def spans(self, run: Stored) -> list[dict[str, Any]]:
        """The run's spans so far."""
        key = run.header.key
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        facts: list[Fact] = []
        while len(facts) < EVENTS_READ and (page := await self._log.read(key, len(facts) - 1, PAGE, PAGE_BYTES)):
            facts += map(fact_of, page)
        projected = spans(run.header, facts)
        if run.projection.status in TERMINAL:
            self._kept[key] = projected
            if len(self._kept) > RUNS_KEPT:
                self._kept.popitem(last=False)
        return projected
