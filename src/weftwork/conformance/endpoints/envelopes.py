"""Test endpoints about envelopes: acceptance, capabilities, reliability events, prompt wrapping.

acceptEnvelope receives an envelope with gate rules and returns the verdict of the gate. It uses the same functions as a
run, both to judge the envelope and to create its events. It remembers a bounded number of envelopes (EnvelopeMemory),
and the caller can make a capability appear present or missing (CapabilityOverlay). Source: RFC 0021 (conformance),
readings (Seam of the gate).

emitEnvelopeReliability writes an event only if a run could have written it.
"""

from collections import OrderedDict
from typing import Any, Final, Generic, TypeVar

import msgspec

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.conformance.endpoints.test_log import EventQuery, TestLog, named_run
from weftwork.engine.api.models import EnvelopeRecords
from weftwork.protocol.envelopes.accept_request import (
    CAPABILITY,
    AcceptRequest,
    ProjectionTarget,
    RecordableOutcome,
    mask_name,
    outcome_response,
    parse_accept_request,
    partial_rules,
)
from weftwork.protocol.envelopes.gate import accept
from weftwork.protocol.envelopes.gate_rules import GateVerdict, RecordedOutcome
from weftwork.protocol.envelopes.handling import JudgedEnvelope, recorded_meta
from weftwork.protocol.envelopes.kinds import KindSet
from weftwork.protocol.envelopes.outcome import Accepted, Gated, Invalid
from weftwork.protocol.envelopes.reassembly import PartialEnvelopes
from weftwork.protocol.ids import is_node_id
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.privacy.trust import DEFAULT_SOURCE, render_for_model
from weftwork.protocol.run.events import Draft
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.model_payloads import EnvelopeRecoveryApplied

MAX_ENTRIES: Final = 10_000
MAX_PAYLOAD_BYTES: Final = 16 * 2**20
"""Total size of the payloads in recorded outcomes. The oldest are evicted first."""
MAX_PARTIAL_ENVELOPES: Final = 32
"""Incomplete envelopes."""
T = TypeVar("T")
MAX_OVERLAY_NAMES: Final = 256
"""Names in the overlay of one partition. The oldest are evicted first."""
_RECOVERY_MEMBERS: Final = frozenset(EnvelopeRecoveryApplied.__struct_encode_fields__)
_CREDENTIAL: Final = "credentialRef"
_CANARY: Final = "secret-canary-"
_PLANTED_OUTCOME: Final = Gated("planted", "", "", ())
"""Placeholder in the gate for an outcome in `priorCorrelations`. The response is the caller's document."""
_SEEN_OUTCOME: Final = Gated("seen", "", "", ())
"""Placeholder in the gate for an envelope that this endpoint has seen, but whose outcome is not stored."""


class FirstEnvelope(msgspec.Struct, frozen=True):
    """The first envelope that was seen under a correlation id."""

    type: str
    envelope_id: str


class BoundedMap(Generic[T]):
    """Values by partition, run and correlation id. The first value of a key is kept. The oldest keys are evicted."""

    def __init__(self, max_entries: int) -> None:
        self._max_entries = max_entries
        self._values: OrderedDict[tuple[str, str, str], tuple[T, int]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: tuple[str, str, str]) -> T | None:
        entry = self._values.get(key)
        return None if entry is None else entry[0]

    def put(self, key: tuple[str, str, str], value: T, size: int = 0) -> None:
        if key in self._values:
            return
        self._values[key] = value, size
        self._size += size
        while len(self._values) > self._max_entries or (self._size > MAX_PAYLOAD_BYTES and len(self._values) > 1):
            self._size -= self._values.popitem(last=False)[1][1]

    def clear(self, partition: str) -> None:
        for key in [each for each in self._values if each[0] == partition]:
            self._size -= self._values.pop(key)[1]


class EnvelopeMemory:
    """The state of acceptEnvelope, by partition."""

    def __init__(self) -> None:
        self.first_envelopes = BoundedMap[FirstEnvelope](MAX_ENTRIES)
        """The first envelope under each correlation id, in any call."""
        self.known_outcomes = BoundedMap[RecordedOutcome](MAX_ENTRIES)
        """Outcomes recorded for the run of a `persistedDedup`."""
        self.event_ids = BoundedMap[tuple[str, ...]](MAX_ENTRIES)
        """Ids of the events that were written for an envelope, for the run of a `projectTo`."""
        self._partial_envelopes = BoundedMap[PartialEnvelopes](MAX_PARTIAL_ENVELOPES)

    def record(self, key: tuple[str, str, str], recorded: RecordedOutcome) -> None:
        self.known_outcomes.put(key, recorded, len(encode_stored(getattr(recorded.outcome, "payload", None))))

    def partial_envelope(self, partition: str, envelope: Any) -> PartialEnvelopes | None:
        """The buffer for the envelope that this piece belongs to; None if the envelope is not a piece."""
        if not is_object(envelope) or "partial" not in envelope:
            return None
        key = (partition, "", str(envelope.get("correlationId")))
        self._partial_envelopes.put(key, PartialEnvelopes())
        return self._partial_envelopes.get(key)

    def clear(self, partition: str) -> None:
        for each in (self.first_envelopes, self.known_outcomes, self.event_ids, self._partial_envelopes):
            each.clear(partition)


class CapabilityOverlay:
    """toggleCapability: capabilities that appear present or missing to the gate's test endpoint and to registration.
    Kept by partition."""

    def __init__(self) -> None:
        self._values: dict[str, OrderedDict[str, bool]] = {}

    def get(self, partition: str, name: str) -> bool | None:
        """The overridden value of a capability; None if it is not overridden."""
        values = self._values.get(partition)
        return None if values is None else values.get(name)

    def missing(self, partition: str) -> list[str]:
        """The names of the capabilities that are overridden as missing."""
        values = self._values.get(partition)
        return [] if values is None else [name for name, value in values.items() if not value]

    def reset(self, partition: str) -> None:
        self._values.pop(partition, None)

    async def toggle(self, request: Request) -> Response:
        """env-34 (RFC 0021, conformance): set or remove an override. The value null removes a name, `reset` removes all
        names. The response is the resulting overlay."""
        body = await request.json()
        schema.require("capability-toggle", body)
        values = self._values.setdefault(request.caller.partition, OrderedDict())
        if body.get("reset"):
            values.clear()
        if "name" in body:
            values.pop(body["name"], None)
            if body.get("value") is not None:
                values[body["name"]] = body["value"]
                if len(values) > MAX_OVERLAY_NAMES:
                    values.popitem(last=False)
        return json_response(200, {"overlay": dict(values)})


def nested_error_response(code: str, message: str) -> Response:
    """env-35 (readings, Errors of seams): an error in the nested form that the conformance suite reads. Callers must
    not pass parts of the request as the message."""
    return json_response(400, {"error": {"code": code, "message": message}})


class EnvelopeAcceptEndpoint:
    """acceptEnvelope. State is kept by partition."""

    def __init__(self, kinds: KindSet, log: TestLog, records: EnvelopeRecords, overlay: CapabilityOverlay) -> None:
        self._kinds = kinds
        self._log = log
        self._records = records
        self._overlay = overlay
        self._memory = EnvelopeMemory()

    def reset(self, partition: str) -> None:
        self._memory.clear(partition)

    async def accept(self, request: Request) -> Response:
        body = await request.json()
        if is_object(body) and "envelope" not in body:
            return nested_error_response("invalid_argument", "The body needs the member envelope.")
        schema.require("envelope-accept", body)
        partition = request.caller.partition
        accept_request = parse_accept_request(body, self._kinds, self._overlay.get(partition, CAPABILITY) is not False)
        return json_response(200, await self._evaluate(partition, body["envelope"], accept_request))

    async def _evaluate(self, partition: str, envelope: Any, request: AcceptRequest) -> Any:
        """env-36 (readings, Seam of the gate): judge an envelope.

        Earlier outcomes under its correlation id take precedence in this order: recorded for the run, stated by the
        caller in `priorCorrelations`, seen by this endpoint. An envelope that was only seen can cause a conflict;
        otherwise the envelope is judged again.
        """
        if (
            request.rules.envelopes_supported
            and (pieces := self._memory.partial_envelope(partition, envelope)) is not None
        ):
            whole = pieces.add(envelope)
            if whole is None:
                return outcome_response(accept(envelope, partial_rules(request.rules)), request)
            if isinstance(whole, Invalid):
                return outcome_response(GateVerdict(whole), request)
            envelope = whole
        recorded = await self._find_recorded(partition, envelope, request)

        def find_recorded(correlation_id: str) -> RecordedOutcome | None:
            if recorded is not None:
                return recorded
            if planted := request.prior_outcomes.get(correlation_id):
                return RecordedOutcome(planted.type, _PLANTED_OUTCOME)
            seen = self._memory.first_envelopes.get((partition, "", correlation_id))
            return None if seen is None else RecordedOutcome(seen.type, _SEEN_OUTCOME)

        verdict = accept(envelope, msgspec.structs.replace(request.rules, find_recorded=find_recorded))
        if verdict.outcome is _SEEN_OUTCOME:
            verdict = accept(envelope, request.rules)
        outcome = verdict.outcome
        if outcome is _PLANTED_OUTCOME:
            return request.prior_outcomes[verdict.correlation_id].document
        if not isinstance(outcome, Invalid) and not verdict.repeated:
            verdict = GateVerdict(self._remember(partition, request, envelope["meta"], verdict, outcome))
        return outcome_response(verdict, request)

    def _remember(
        self, partition: str, request: AcceptRequest, meta: Any, verdict: GateVerdict, outcome: RecordableOutcome
    ) -> RecordableOutcome:
        """Store the outcome for later calls and for the named run, and write its events to the test log. Returns the
        outcome with the id of the first envelope and the ids of the events."""
        seen = self._memory.first_envelopes.get((partition, "", verdict.correlation_id))
        if isinstance(outcome, Accepted) and seen is not None:
            outcome = msgspec.structs.replace(outcome, envelope_id=seen.envelope_id)
        if request.projection is not None:
            names = verdict.type, verdict.correlation_id, verdict.envelope_id
            version, advertised = verdict.schema_version, request.rules.advertised(verdict.type)
            recorded = recorded_meta(meta, request.rules.secrets)
            judged = JudgedEnvelope(request.projection.node_id, *names, outcome, version, advertised, recorded)
            ids = self._write_events(partition, request, request.projection, judged)
            if isinstance(outcome, Accepted):
                outcome = msgspec.structs.replace(outcome, event_ids=ids)
        self._memory.first_envelopes.put(
            (partition, "", verdict.correlation_id), FirstEnvelope(verdict.type, verdict.envelope_id)
        )
        if request.dedup_run_id is not None:
            key = (partition, request.dedup_run_id, verdict.correlation_id)
            self._memory.record(key, RecordedOutcome(verdict.type, outcome))
        return outcome

    async def _find_recorded(self, partition: str, envelope: Any, request: AcceptRequest) -> RecordedOutcome | None:
        """The outcome recorded in the log of the run, or by this endpoint for the id of the run."""
        correlation_id: Any = envelope.get("correlationId") if is_object(envelope) else None
        run_id = request.dedup_run_id
        if run_id is None or not isinstance(correlation_id, str):
            return None
        masked_id = mask_name(correlation_id, request.rules)
        recorded = await self._records.find(RunKey(partition, run_id), masked_id)
        return recorded or self._memory.known_outcomes.get((partition, run_id, masked_id))

    def _write_events(
        self, partition: str, request: AcceptRequest, target: ProjectionTarget, judged: JudgedEnvelope
    ) -> tuple[str, ...]:
        """Write the events of an envelope, unless they exist already for the run. Returns their ids."""
        key = (partition, target.run_id, judged.correlation_id)
        event_ids = self._memory.event_ids.get(key)
        if event_ids is None:
            interrupts = EventQuery(type="interrupt.requested", node_id=judged.node_id)
            interrupt_count = len(self._log.events(partition, target.run_id, interrupts))
            drafts = self._records.project(judged, request.rules.contract, interrupt_count)
            event_ids = tuple(event["eventId"] for event in self._log.append(partition, target.run_id, drafts))
            self._memory.event_ids.put(key, event_ids)
        return event_ids


async def emit_reliability_event(log: TestLog, request: Request) -> Response:
    """env-33 (RFC 0032): write a reliability event. Payloads that violate their schema, or that contain a credential or
    content, are refused."""
    body = await request.json()
    violations = schema.check("emit-envelope-reliability", body)
    if violations and is_object(body):
        return _violation_response(violations[0], "")
    schema.require("emit-envelope-reliability", body)
    kind, payload = body["type"], body["payload"]
    if _has_credential(payload):
        return nested_error_response("envelope_reliability_credential_leak", "The payload contains a credential.")
    if kind == EnvelopeRecoveryApplied.event_type and not payload.keys() <= _RECOVERY_MEMBERS:
        return nested_error_response(
            "envelope_recovery_content_leak", "The payload may only have nodeId, path and byteOffset."
        )
    if violations := schema.check_payload(kind, payload):
        return _violation_response(violations[0], "/payload")
    node_id: str = body.get("nodeId", payload["nodeId"])
    draft = Draft(kind, payload, node_id if is_node_id(node_id) else None, body.get("correlationId"))
    written = log.append(request.caller.partition, named_run(body), (draft,))
    return json_response(200, {"event": written[0]})


def _violation_response(violation: schema.Violation, at: str) -> Response:
    return nested_error_response(
        "invalid_argument", f"The value at the pointer '{at}{violation.pointer}' {violation.message}."
    )


def _has_credential(payload: dict[str, Any]) -> bool:
    stack: list[Any] = [payload]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            if _CANARY in value:
                return True
        elif is_object(value):
            if any(name == _CREDENTIAL or _CANARY in name for name in value):
                return True
            stack += value.values()
        elif is_array(value):
            stack += value
    return False


async def wrap_prompt(request: Request) -> Response:
    """wrapPrompt: the content as the prompt of a later node would contain it."""
    body = await request.json()
    schema.require("prompt-wrap", body)
    prompt = render_for_model(
        body["payload"],
        body.get("contentTrust"),
        type=body.get("eventType", "event"),
        source=body.get("source", DEFAULT_SOURCE),
        attributes=body.get("attributes"),
    )
    return json_response(200, {"prompt": prompt})
