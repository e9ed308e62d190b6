"""Model input and output outside of a live run: resolves the media of a request, and reads recorded envelopes. For test
endpoints."""

from typing import Final

import msgspec

from weftwork.engine.api.keyring import Principal
from weftwork.engine.decide.envelopes import project_envelope
from weftwork.engine.media.assets import Assets
from weftwork.engine.models.message_media import RUN_ERROR_CODES, MessageMedia
from weftwork.engine.run.replay import REPLAY_PAGE_BYTES, REPLAY_PAGE_EVENTS
from weftwork.ports.models import ModelProviders, ModelRequest, input_modalities
from weftwork.ports.node_outcome import StepFailed
from weftwork.ports.outbound import Outbound
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.envelopes.gate_rules import EnvelopeContract, RecordedOutcome
from weftwork.protocol.envelopes.handling import JudgedEnvelope, recorded_outcome
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.run.events import ENVELOPE_RECORDED, Draft
from weftwork.protocol.run.header import RunKey

MAX_EVENTS_SCANNED: Final = 10_000
_WIRE_CODES: Final = {mine: wire for wire, mine in RUN_ERROR_CODES.items()} | {
    "unsupported_modality": "unsupported_modality"
}


class ModelInput(msgspec.Struct, eq=False):
    """Checks and resolves the messages of a request like those of a node, without calling the model."""

    _models: ModelProviders
    _assets: Assets | None
    _outbound: Outbound | None
    _max_part_bytes: int

    async def resolve(self, principal: Principal, request: ModelRequest) -> ModelRequest:
        """The request with its media resolved. Raises ProviderFault for an unknown provider, and ClientFault for media
        that are refused."""
        media = MessageMedia(self._assets, self._outbound, principal.partition, self._max_part_bytes)
        provider = self._models.find(request)
        try:
            return await media.resolve(request, input_modalities(provider, request.model))
        except StepFailed as failed:
            # The failure of a node becomes an error response. Its code may map to 404, which would mean that the
            # endpoint does not exist, so other codes are sent as a validation error.
            failure, details = failed.failure, failed.failure.details
            if (code := _WIRE_CODES.get(failure.code)) is None:
                code, details = "validation_error", {**(details or {}), "code": failure.code}
            raise ClientFault(code, failure.message, details) from None


class EnvelopeRecords(msgspec.Struct, eq=False):
    """Finds recorded envelopes by scanning the log, which is for test endpoints only. A live run has them in its
    state."""

    _log: EventLog

    async def find(self, run: RunKey, correlation_id: str) -> RecordedOutcome | None:
        """The first record with that correlation id among the first MAX_EVENTS_SCANNED events, else None."""
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
        """The events of an envelope in a run whose node has requested `asked_before` interrupts. Writes nothing."""
        return project_envelope(judged, contract, asked_before)
