"""Test endpoints about envelopes: acceptance, capabilities, reliability events, prompt wrapping.

acceptEnvelope: an envelope and the rules for it come in, the verdict of the gate goes out. The endpoint adds no rules
of its own: the envelope is judged by the function that judges the output of models, and its events are made by the
functions that make them in a run. It remembers the envelopes it was shown, within bounds (EnvelopeMemory), and can be
told to see a capability as present or missing (CapabilityOverlay). Source: RFC 0021 (conformance), readings (Seam of
the gate).

A reliability event is written only if the live path could have written it.
"""

from collections import OrderedDict
from typing import Any, Final, Generic, TypeVar

import msgspec

from weftwork.adapters.http.message import Request, Response, json_response
from weftwork.conformance.endpoints.test_log import EventQuery, TestLog
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
from weftwork.protocol.envelopes.handling import JudgedEnvelope
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

MAX_ENTRIES: Final = 10_000
MAX_PAYLOAD_BYTES: Final = 16 * 2**20
"""Of payloads in recorded outcomes; the oldest go first."""
MAX_PARTIAL_ENVELOPES: Final = 32
"""Envelopes that are not whole yet."""
T = TypeVar("T")
MAX_OVERLAY_NAMES: Final = 256
"""Of one partition; the oldest go first."""
RECOVERY_EVENT: Final = "envelope.recovery.applied"
_RECOVERY_MEMBERS: Final = frozenset({"nodeId", "path", "byteOffset"})
_CREDENTIAL: Final = "credentialRef"
_CANARY: Final = "secret-canary-"
_PLANTED_OUTCOME: Final = Gated("planted", "", "", ())
"""Stands in the rules for an outcome that only its planter knows."""
_SEEN_OUTCOME: Final = Gated("seen", "", "", ())
"""Stands for one that was seen here, and is not kept."""


class FirstEnvelope(msgspec.Struct, frozen=True):
    """The first envelope that was seen under a correlation id."""

    type: str
    envelope_id: str


class BoundedMap(Generic[T]):
    """Values by partition, run and correlation id. The first one under a key stays, the oldest keys go."""

    def __init__(self, max_entries: int) -> None:
        self._max_entries = max_entries
        self._values: OrderedDict[tuple[str, str, str], tuple[T, int]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: tuple[str, str, str]) -> T | None:
        found = self._values.get(key)
        return None if found is None else found[0]

    def put(self, key: tuple[str, str, str], value: T, weight: int = 0) -> None:
        if key in self._values:
            return
        self._values[key] = value, weight
        self._size += weight
        while len(self._values) > self._max_entries or (self._size > MAX_PAYLOAD_BYTES and len(self._values) > 1):
            self._size -= self._values.popitem(last=False)[1][1]

    def clear(self, partition: str) -> None:
        for key in [each for each in self._values if each[0] == partition]:
            self._size -= self._values.pop(key)[1]


class EnvelopeMemory:
    """What acceptEnvelope remembers, by partition."""

    def __init__(self) -> None:
        self.first_envelopes = BoundedMap[FirstEnvelope](MAX_ENTRIES)
        """Seen in any call."""
        self.known_outcomes = BoundedMap[RecordedOutcome](MAX_ENTRIES)
        """Recorded for a named run."""
        self.event_ids = BoundedMap[tuple[str, ...]](MAX_ENTRIES)
        """Events that were written for an envelope in a named run."""
        self._partial_envelopes = BoundedMap[PartialEnvelopes](MAX_PARTIAL_ENVELOPES)

    def record(self, key: tuple[str, str, str], known: RecordedOutcome) -> None:
        self.known_outcomes.put(key, known, len(encode_stored(getattr(known.outcome, "payload", None))))

    def partial_envelope(self, partition: str, envelope: Any) -> PartialEnvelopes | None:
        """What has come of the envelope that this is a piece of; None if it is none."""
        if not is_object(envelope) or "partial" not in envelope:
            return None
        key = (partition, "", str(envelope.get("correlationId")))
        self._partial_envelopes.put(key, PartialEnvelopes())
        return self._partial_envelopes.get(key)

    def clear(self, partition: str) -> None:
        """Forget everything of a partition."""
        for each in (self.first_envelopes, self.known_outcomes, self.event_ids, self._partial_envelopes):
            each.clear(partition)


class CapabilityOverlay:
    """toggleCapability. Only seams look here; every partition has its own."""

    def __init__(self) -> None:
        self._values: dict[str, OrderedDict[str, bool]] = {}

    def get(self, partition: str, name: str) -> bool | None:
        """What is to be seen; None: what is there."""
        values = self._values.get(partition)
        return None if values is None else values.get(name)

    def reset(self, partition: str) -> None:
        """Forget everything of a partition."""
        self._values.pop(partition, None)

    async def toggle(self, request: Request) -> Response:
        """env-34 (RFC 0021, conformance): null takes a name out, and reset all of them; the answer is what is left."""
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
    """env-35 (readings, Errors of seams): what checks of hosts read. Never repeats what was sent."""
    return json_response(400, {"error": {"code": code, "message": message}})


class EnvelopeAcceptEndpoint:
    """acceptEnvelope. Every partition has a memory of its own."""

    def __init__(self, kinds: KindSet, log: TestLog, records: EnvelopeRecords, overlay: CapabilityOverlay) -> None:
        self._kinds = kinds
        self._log = log
        self._records = records
        self._overlay = overlay
        self._memory = EnvelopeMemory()

    def reset(self, partition: str) -> None:
        """Forget everything of a partition."""
        self._memory.clear(partition)

    async def accept(self, request: Request) -> Response:
        body = await request.json()
        if is_object(body) and "envelope" not in body:
            return nested_error_response("invalid_argument", "The body needs an envelope.")
        schema.require("envelope-accept", body)
        partition = request.caller.partition
        given = parse_accept_request(body, self._kinds, self._overlay.get(partition, CAPABILITY) is not False)
        return json_response(200, await self._evaluate(partition, body["envelope"], given))

    async def _evaluate(self, partition: str, envelope: Any, given: AcceptRequest) -> Any:
        """env-36 (readings, Seam of the gate): what is recorded for a run counts before what the caller plants, and
        that before what was seen here, which tells a conflict and else lets the envelope be judged anew."""
        if (
            given.rules.envelopes_supported
            and (piece := self._memory.partial_envelope(partition, envelope)) is not None
        ):
            whole = piece.add(envelope)
            if whole is None:
                return outcome_response(accept(envelope, partial_rules(given.rules)), given)
            if isinstance(whole, Invalid):
                return outcome_response(GateVerdict(whole), given)
            envelope = whole
        recorded = await self._find_recorded(partition, envelope, given)

        def known(correlation_id: str) -> RecordedOutcome | None:
            if recorded is not None:
                return recorded
            if planted := given.prior_outcomes.get(correlation_id):
                return RecordedOutcome(planted.type, _PLANTED_OUTCOME)
            seen = self._memory.first_envelopes.get((partition, "", correlation_id))
            return None if seen is None else RecordedOutcome(seen.type, _SEEN_OUTCOME)

        verdict = accept(envelope, msgspec.structs.replace(given.rules, find_recorded=known))
        if verdict.outcome is _SEEN_OUTCOME:
            verdict = accept(envelope, given.rules)
        outcome = verdict.outcome
        if outcome is _PLANTED_OUTCOME:
            return given.prior_outcomes[verdict.correlation_id].document
        if not isinstance(outcome, Invalid) and not verdict.repeated:
            verdict = GateVerdict(self._remember(partition, given, verdict, outcome))
        return outcome_response(verdict, given)

    def _remember(
        self, partition: str, given: AcceptRequest, verdict: GateVerdict, outcome: RecordableOutcome
    ) -> RecordableOutcome:
        """The outcome with what was kept of it: for the next call, for the named run, and in the test log."""
        seen = self._memory.first_envelopes.get((partition, "", verdict.correlation_id))
        if isinstance(outcome, Accepted) and seen is not None:
            outcome = msgspec.structs.replace(outcome, envelope_id=seen.envelope_id)
        if given.projection is not None:
            names = verdict.type, verdict.correlation_id, verdict.envelope_id
            version, advertised = verdict.schema_version, given.rules.advertised(verdict.type)
            judged = JudgedEnvelope(given.projection.node_id, *names, outcome, version, advertised)
            ids = self._write_events(partition, given, given.projection, judged)
            if isinstance(outcome, Accepted):
                outcome = msgspec.structs.replace(outcome, event_ids=ids)
        self._memory.first_envelopes.put(
            (partition, "", verdict.correlation_id), FirstEnvelope(verdict.type, verdict.envelope_id)
        )
        if given.dedup_run_id is not None:
            key = (partition, given.dedup_run_id, verdict.correlation_id)
            self._memory.record(key, RecordedOutcome(verdict.type, outcome))
        return outcome

    async def _find_recorded(self, partition: str, envelope: Any, given: AcceptRequest) -> RecordedOutcome | None:
        """In the log of the run, if there is one; else what was recorded here for that id."""
        named: Any = envelope.get("correlationId") if is_object(envelope) else None
        run_id = given.dedup_run_id
        if run_id is None or not isinstance(named, str):
            return None
        identity = mask_name(named, given.rules)
        found = await self._records.find(RunKey(partition, run_id), identity)
        return found or self._memory.known_outcomes.get((partition, run_id, identity))

    def _write_events(
        self, partition: str, given: AcceptRequest, target: ProjectionTarget, judged: JudgedEnvelope
    ) -> tuple[str, ...]:
        """Ids of the events; a run has those of an envelope once."""
        key = (partition, target.run_id, judged.correlation_id)
        written = self._memory.event_ids.get(key)
        if written is None:
            before = EventQuery(type="interrupt.requested", node_id=judged.node_id)
            asked_before = len(self._log.events(partition, target.run_id, before))
            drafts = self._records.project(judged, given.rules.contract, asked_before)
            written = tuple(event["eventId"] for event in self._log.append(partition, target.run_id, drafts))
            self._memory.event_ids.put(key, written)
        return written


async def emit_reliability_event(log: TestLog, request: Request) -> Response:
    """env-33 (RFC 0032): only payloads that fit their closed schemas are written, and nothing that leaks."""
    body = await request.json()
    wrong = schema.check("emit-envelope-reliability", body)
    if wrong and is_object(body):
        return _violation_response(wrong[0], "")
    schema.require("emit-envelope-reliability", body)
    kind, payload = body["type"], body["payload"]
    if _has_credential(payload):
        return nested_error_response("envelope_reliability_credential_leak", "The payload holds a credential.")
    if kind == RECOVERY_EVENT and not payload.keys() <= _RECOVERY_MEMBERS:
        return nested_error_response("envelope_recovery_content_leak", "The payload holds more than where and how.")
    if found := schema.check_payload(kind, payload):
        return _violation_response(found[0], "/payload")
    node_id: str = body.get("nodeId", payload["nodeId"])
    draft = Draft(kind, payload, node_id if is_node_id(node_id) else None, body.get("correlationId"))
    written = log.append(request.caller.partition, body["runId"], (draft,))
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
    """wrapPrompt: the very text that a prompt of a later node would hold."""
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
