"""The span recorder: spans of runs that were asked for, projected from their logs and kept while there is room."""

from collections import OrderedDict
from typing import Any, Final

from weftwork.engine.recover import PAGE, PAGE_BYTES
from weftwork.ports.eventlog import EventLog, Stored
from weftwork.protocol.run import TERMINAL, RunKey
from weftwork.protocol.spans import TOLD, Spans, fact_of

RUNS_KEPT: Final = 256
EVENTS_READ: Final = 10_000


class SpanRecorder:
    """Bounded: at most RUNS_KEPT ended runs in memory, and about EVENTS_READ events read for one run.

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
        found, last = Spans(run.header), -1
        while last + 1 < EVENTS_READ and (page := await self._log.read(key, last, PAGE, PAGE_BYTES)):
            for event in page:
                if event.type in TOLD:
                    found.add(fact_of(event))
            last = page[-1].sequence
        if run.projection.status in TERMINAL:
            self._kept[key] = found.all
            if len(self._kept) > RUNS_KEPT:
                self._kept.popitem(last=False)
        return found.all
