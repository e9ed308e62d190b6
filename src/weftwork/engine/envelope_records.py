"""Records of envelopes: what a run has recorded under a correlation id, read from its log."""

from typing import Final

import msgspec

from weftwork.engine.recover import PAGE, PAGE_BYTES
from weftwork.ports.eventlog import EventLog
from weftwork.protocol.envelope.handling import known_of
from weftwork.protocol.envelope.rules import Known
from weftwork.protocol.events import ENVELOPE_RECORDED
from weftwork.protocol.run import RunKey

EVENTS_READ: Final = 10_000


class EnvelopeRecords:
    """Looks the log through, so this is for seams alone; a live run has its records in its state."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    async def find(self, run: RunKey, correlation_id: str) -> Known | None:
        """The first record, as the fold keeps it; None where there is none among the first events, and for no run."""
        seen = 0
        while seen < EVENTS_READ and (page := await self._log.read(run, seen - 1, PAGE, PAGE_BYTES)):
            for event in page:
                if event.type == ENVELOPE_RECORDED and event.causation_id == correlation_id:
                    return known_of(msgspec.json.decode(event.payload), event.content_trust)
            seen += len(page)
        return None
