"""The seam on the gate: an envelope and the rules for it come in, and what the gate says of it goes out.

A window and no more: the envelope is judged by the function that judges what models send, and what is projected is
made by the functions that make it in a run. Source: RFC 0021 (conformance), readings (Seam of the gate).
"""

from typing import Any, Final

import msgspec

from weftwork.adapters.http.correlations import Correlations, First
from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.adapters.http.overlay import Overlay
from weftwork.adapters.http.seam_refusal import seam_refusal
from weftwork.engine.envelope_projection import would_record
from weftwork.engine.envelope_records import EnvelopeRecords
from weftwork.engine.test_log import EventQuery, TestLog
from weftwork.protocol import schema
from weftwork.protocol.envelope.accept import accept
from weftwork.protocol.envelope.handling import Judged
from weftwork.protocol.envelope.kind import Kinds
from weftwork.protocol.envelope.outcome import Accepted, Gated, Invalid
from weftwork.protocol.envelope.rules import Known, Verdict
from weftwork.protocol.envelope.seam import (
    CAPABILITY,
    Asked,
    Good,
    Projection,
    asked,
    judged_of,
    masked,
    of_piece,
    shown,
    with_known,
)
from weftwork.protocol.json_value import is_object
from weftwork.protocol.run import RunKey

_PLANTED: Final = Gated("planted", "", "", ())
"""Stands in the rules for an outcome that only its planter knows."""
_SEEN: Final = Gated("seen", "", "", ())
"""Stands for one that was seen here, and is not kept."""


class EnvelopeSeam:
    """acceptEnvelope. Every partition has a memory of its own."""

    def __init__(self, kinds: Kinds, log: TestLog, records: EnvelopeRecords, overlay: Overlay) -> None:
        self._kinds = kinds
        self._log = log
        self._records = records
        self._overlay = overlay
        self._memory = Correlations()

    def reset(self, partition: str) -> None:
        """Forget everything of a partition."""
        self._memory.clear(partition)

    async def accept(self, request: Request) -> Response:
        body = await request.document()
        if is_object(body) and "envelope" not in body:
            return seam_refusal("invalid_argument", "The body needs an envelope.")
        schema.require("envelope-accept", body)
        partition = request.caller.partition
        given = asked(body, self._kinds, self._overlay.get(partition, CAPABILITY) is not False)
        return json_response(200, await self._judge(partition, body["envelope"], given))

    async def _judge(self, partition: str, envelope: Any, given: Asked) -> Any:
        """env-36 (readings, Seam of the gate): what is recorded for a run counts before what the caller plants, and
        that before what was seen here, which tells a conflict and else lets the envelope be judged anew."""
        if given.rules.capable and (piece := self._memory.piece(partition, envelope)) is not None:
            whole = piece.take(envelope)
            if whole is None:
                return shown(accept(envelope, of_piece(given.rules)), given)
            if isinstance(whole, Invalid):
                return shown(Verdict(whole), given)
            envelope = whole
        recorded = await self._recorded(partition, envelope, given)

        def known(correlation_id: str) -> Known | None:
            if recorded is not None:
                return recorded
            if planted := given.planted.get(correlation_id):
                return Known(planted.type, _PLANTED)
            seen = self._memory.seen.get((partition, "", correlation_id))
            return None if seen is None else Known(seen.type, _SEEN)

        verdict = accept(envelope, with_known(given.rules, known))
        if verdict.outcome is _SEEN:
            verdict = accept(envelope, given.rules)
        outcome = verdict.outcome
        if outcome is _PLANTED:
            return given.planted[verdict.correlation_id].document
        if not isinstance(outcome, Invalid) and not verdict.repeated:
            verdict = Verdict(self._keep(partition, given, verdict, outcome))
        return shown(verdict, given)

    def _keep(self, partition: str, given: Asked, verdict: Verdict, outcome: Good) -> Good:
        """The outcome with what was kept of it: for the next call, for the named run, and in the test log."""
        seen = self._memory.seen.get((partition, "", verdict.correlation_id))
        if isinstance(outcome, Accepted) and seen is not None:
            outcome = msgspec.structs.replace(outcome, envelope_id=seen.envelope_id)
        if given.projection is not None:
            judged = judged_of(verdict, given.projection, outcome, given.rules)
            ids = self._write(partition, given, given.projection, judged)
            if isinstance(outcome, Accepted):
                outcome = msgspec.structs.replace(outcome, event_ids=ids)
        self._memory.seen.put((partition, "", verdict.correlation_id), First(verdict.type, verdict.envelope_id))
        if given.durable is not None:
            key = (partition, given.durable, verdict.correlation_id)
            self._memory.record(key, Known(verdict.type, outcome))
        return outcome

    async def _recorded(self, partition: str, envelope: Any, given: Asked) -> Known | None:
        """In the log of the run, if there is one; else what was recorded here for that id."""
        named: Any = envelope.get("correlationId") if is_object(envelope) else None
        run_id = given.durable
        if run_id is None or not isinstance(named, str):
            return None
        identity = masked(named, given.rules)
        found = await self._records.find(RunKey(partition, run_id), identity)
        return found or self._memory.recorded.get((partition, run_id, identity))

    def _write(self, partition: str, given: Asked, target: Projection, judged: Judged) -> tuple[str, ...]:
        """Ids of the events; a run has those of an envelope once."""
        key = (partition, target.run_id, judged.correlation_id)
        written = self._memory.written.get(key)
        if written is None:
            before = EventQuery(type="interrupt.requested", node_id=judged.node_id)
            asked_before = len(self._log.events(partition, target.run_id, before))
            drafts = would_record(judged, given.rules.contract, asked_before)
            written = tuple(event["eventId"] for event in self._log.append(partition, target.run_id, drafts))
            self._memory.written.put(key, written)
        return written
