"""Envelopes outside a live run: what a log has recorded of one, and the events that one would leave."""

from typing import Final

import msgspec

from weftwork.engine.decide.envelopes import project_envelope
from weftwork.engine.run.replay import REPLAY_PAGE_BYTES, REPLAY_PAGE_EVENTS
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.envelopes.contract import EnvelopeContract
from weftwork.protocol.envelopes.gate_rules import RecordedOutcome
from weftwork.protocol.envelopes.handling import JudgedEnvelope, recorded_outcome
from weftwork.protocol.run.events import ENVELOPE_RECORDED, Draft
from weftwork.protocol.run.header import RunKey

MAX_EVENTS_SCANNED: Final = 10_000


class EnvelopeRecords:
    """Scans the log, so this is for test endpoints only; a live run has its records in its state."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    async def find(self, run: RunKey, correlation_id: str) -> RecordedOutcome | None:
        """The first record, as the fold keeps it; None where there is none among the first events, and for no run."""
        seen = 0
        while seen < MAX_EVENTS_SCANNED and (
            page := await self._log.read(run, seen - 1, REPLAY_PAGE_EVENTS, REPLAY_PAGE_BYTES)
        ):
            for event in page:
                if event.type == ENVELOPE_RECORDED and event.causation_id == correlation_id:
                    return recorded_outcome(msgspec.json.decode(event.payload), event.content_trust)
            seen += len(page)
        return None

    def project(self, judged: JudgedEnvelope, contract: EnvelopeContract, asked_before: int) -> tuple[Draft, ...]:
        """The events of an envelope in a run that has asked a person `asked_before` times. Writes nothing."""
        return project_envelope(judged, contract, asked_before)
