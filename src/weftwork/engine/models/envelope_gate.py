"""The envelope gate of a live run: applies the pure gate with the rules and the records of the run and the node.

Judging an envelope changes nothing; the caller records the outcome and then acts on it.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from weftwork.engine.node_events import QUESTION_HIDDEN, interrupt_failure
from weftwork.engine.runtime import Runtime
from weftwork.ports.node_outcome import StepFailed
from weftwork.ports.nodes import Emission, NodeCall
from weftwork.protocol.envelopes.checks import INVALID_PAYLOAD, invalid_outcome
from weftwork.protocol.envelopes.gate import accept
from weftwork.protocol.envelopes.gate_rules import Counter, Counters, GateRules, RecordedOutcome, no_record
from weftwork.protocol.envelopes.handling import (
    RECORDED_META,
    JudgedEnvelope,
    clarification_interrupt,
    recorded_meta,
    surface_interrupt,
)
from weftwork.protocol.envelopes.kinds import CLARIFICATION_KIND, MEDIA_KINDS, SURFACE_KIND, KindSet
from weftwork.protocol.envelopes.outcome import Accepted, EnvelopeOutcome, Invalid, OutcomeDetail
from weftwork.protocol.envelopes.reassembly import EnvelopeOrigin, fill_defaults, is_partial
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.values import is_object, is_too_large
from weftwork.protocol.media.inline_media import decode_base64
from weftwork.protocol.media.message_parts import (
    MAX_ALT,
    check_media_url,
    mirror_hint,
    rendering_hint,
    with_usable_media,
)
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.run.events import UNTRUSTED
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.surfaces.actions import BoundSurface, check_binding
from weftwork.protocol.surfaces.surface import Surface, parse_surface

UNJOINED_PARTIAL = Invalid(
    "invalid_envelope_shape",
    "invalid_envelope_shape: a piece of an envelope came without the others",
    (
        OutcomeDetail(
            "/partial", "#/properties/partial", "required", "belongs to an envelope of which other pieces never came"
        ),
    ),
)
PAYLOAD_TOO_LARGE = Invalid(
    "envelope_invalid", "The payload is too large.", (OutcomeDetail("/payload", "", "size", "is too large"),)
)


def _check_form(surface: Surface | None, accepted: Accepted, emission: Emission) -> Invalid | None:
    """surf-06: the error of a surface with which a person could not answer the interrupt that it is the form of."""
    asked = emission.form_of
    if surface is None or (asked is None and not (emission.asks and surface.buttons)):
        return None
    kind, data = ("custom", {}) if asked is None else (asked.kind, asked.data)
    bound = BoundSurface(surface, kind, data, accepted.content_trust == UNTRUSTED)
    found = check_binding(bound, "/payload/surface")
    details = tuple(OutcomeDetail(each.pointer, "", each.rule, each.message) for each in found)
    return invalid_outcome(INVALID_PAYLOAD, details) if details else None


def _requested_interrupt(
    kind: str, accepted: Accepted, surface: Surface | None, emission: Emission
) -> Interrupt | None:
    """The interrupt that is requested in the commit that records the envelope."""
    if kind == CLARIFICATION_KIND:
        return msgspec.structs.replace(clarification_interrupt(accepted), surface=emission.form)
    if kind == SURFACE_KIND and emission.form_of is None and emission.asks:
        return surface_interrupt(accepted, surface)
    return None


class GateResult(msgspec.Struct, frozen=True):
    """The judgement of the gate on an envelope."""

    outcome: EnvelopeOutcome
    judged: JudgedEnvelope | None = None
    """The outcome to record; None if the envelope is invalid or its outcome was recorded before."""
    interrupt: Interrupt | None = None
    clarifies: str | None = None
    """The correlation id of an accepted clarification."""
    is_validated: bool = False
    """Whether the envelope matches the schemas of its form and its kind, so that they need not be applied again."""


class EnvelopeGate(msgspec.Struct, eq=False):
    """Judges the envelopes of one entry of a node, or of one item of a map."""

    _runtime: Runtime
    _state: RunState
    _call: NodeCall
    _node_id: str
    _item: str
    _redactor: Redactor | None
    _is_untrusted: Callable[[], bool]
    _is_foreign: Callable[[Any], bool]
    _clarified: set[str] = set()

    def judge(self, document: Any, emission: Emission, records: bool = True, is_validated: bool = False) -> GateResult:
        """Judge an envelope by the rules of the host and the node and by the state of the run. Changes nothing.

        Without `records`, earlier envelopes of the run are ignored, so the result is always the same. With
        `is_validated`, which an earlier result says, the schemas are not applied again: the ids, the time and the trust
        that are filled in here may differ from those of that result, but are always valid.
        """
        complete = fill_defaults(document, self._origin(emission))
        if is_object(complete) and complete.get("type") in MEDIA_KINDS:
            complete = mirror_hint(complete)
        if is_partial(complete):
            return GateResult(UNJOINED_PARTIAL)
        if is_too_large(document):
            return GateResult(PAYLOAD_TOO_LARGE)
        verdict = accept(complete, self._rules(emission, records, is_validated))
        outcome = verdict.outcome
        if isinstance(outcome, Invalid):
            return GateResult(outcome)
        if verdict.type in MEDIA_KINDS and isinstance(outcome, Accepted) and outcome.redactions:
            usable = with_usable_media(complete["payload"], outcome.payload)
            outcome = msgspec.structs.replace(outcome, payload=usable)
        if verdict.type in MEDIA_KINDS and not verdict.repeated and (fault := self._media_fault(complete)) is not None:
            return GateResult(Invalid("envelope_invalid", f"envelope_invalid: {fault.message}", (fault,)))
        correlation = verdict.correlation_id
        clarifies = correlation if isinstance(outcome, Accepted) and verdict.type == CLARIFICATION_KIND else None
        if verdict.repeated:
            return GateResult(outcome, clarifies=clarifies)
        interrupt = None
        if isinstance(outcome, Accepted):
            surface = parse_surface(outcome.payload) if verdict.type == SURFACE_KIND else None
            if (unusable := _check_form(surface, outcome, emission)) is not None:
                return GateResult(unusable)
            interrupt = _requested_interrupt(verdict.type, outcome, surface, emission)
        if isinstance(outcome, Accepted) and outcome.redactions and is_too_large(outcome.payload):
            # Markers may be longer than the values that they replace.
            return GateResult(PAYLOAD_TOO_LARGE)
        if interrupt is not None and (invalid := self._check_interrupt(interrupt)) is not None:
            return GateResult(invalid)
        kind = self._kinds(emission).find(verdict.type)
        judged = JudgedEnvelope(
            self._node_id,
            verdict.type,
            correlation,
            verdict.envelope_id,
            outcome,
            verdict.schema_version,
            kind.version if kind is not None else None,
            self._recorded_meta(complete["meta"], outcome),
        )
        # An item of a map does not suspend its node; the map does that.
        return GateResult(outcome, judged, None if self._item else interrupt, clarifies, verdict.is_validated)

    def _check_interrupt(self, interrupt: Interrupt) -> Invalid | None:
        """The error of an envelope whose questions cannot be asked; else None. Raises StepFailed if nothing readable is
        left of them (hide-07)."""
        if (failure := interrupt_failure(interrupt, self._runtime.types)) is not None:
            pointer = str((failure.details or {}).get("pointer", ""))
            detail = OutcomeDetail(f"/payload{pointer.removeprefix('/data')}", "", "question", "cannot be asked")
            return Invalid("envelope_invalid", failure.message, (detail,))
        if self._redactor is None or self._item:
            return None
        if not self._redactor.may_ask(self._node_id, interrupt.kind, interrupt.data):
            raise StepFailed(QUESTION_HIDDEN)
        return None

    def find_recorded(self, kind: str, emission: Emission) -> RecordedOutcome | None:
        """The recorded outcome of an envelope of this kind whose ids are derived from its origin."""
        complete = fill_defaults({"type": kind}, self._origin(emission))
        return self._state.envelopes.get(complete["correlationId"])

    def _media_fault(self, complete: dict[str, Any]) -> OutcomeDetail | None:
        payload = complete["payload"]
        if (fault := check_media_url(payload)) is not None:
            return fault
        if isinstance(payload.get("base64"), str) and decode_base64(payload["base64"]) is None:
            return OutcomeDetail("/payload/base64", "#/properties/base64", "contentEncoding", "must be base64")
        if self._is_foreign(complete):
            return OutcomeDetail("/payload/url", "#/properties/url", "asset", "is no asset of this run's tenant")
        return None

    def _recorded_meta(self, meta: dict[str, Any], outcome: EnvelopeOutcome) -> dict[str, Any]:
        if not any(name in meta for name in RECORDED_META):
            return {}
        recorded = recorded_meta(meta, None if self._redactor is None else self._redactor.matcher)
        if isinstance(outcome, Accepted) and outcome.type in MEDIA_KINDS:
            hint: dict[str, Any] = recorded.get("rendering", {})
            title = hint.get("title", "")[:MAX_ALT]
            recorded["rendering"] = {**hint, **rendering_hint(outcome.type, outcome.payload, title)}
        return recorded

    def count_clarification(self, result: GateResult) -> None:
        """Count an accepted clarification towards the limit of this entry."""
        if result.clarifies is not None:
            self._clarified.add(result.clarifies)

    def _origin(self, emission: Emission) -> EnvelopeOrigin:
        node = self._state.nodes[self._node_id]
        turn = f"{self._item}/{self._call.visit}.{node.failures}.{emission.turn}"
        trust = "untrusted" if self._is_untrusted() else "trusted"
        return EnvelopeOrigin(self._call.run_id, self._node_id, turn, emission.index, node.first_started_at, trust)

    def _kinds(self, emission: Emission) -> KindSet:
        kinds = self._runtime.kinds.with_missing(self._state.plan.workflow.envelope_kinds)
        return kinds.with_kinds(emission.kinds) if emission.kinds else kinds

    def _rules(self, emission: Emission, records: bool, is_validated: bool) -> GateRules:
        limits = self._runtime.limits
        kinds = self._kinds(emission)
        counters = Counters(
            Counter(emission.index, limits.envelopes_per_turn),
            Counter(emission.schema_rounds, limits.schema_rounds),
            Counter(len(self._clarified), limits.clarification_rounds),
        )
        return GateRules(
            kinds,
            kinds.accepted,
            emission.contract,
            counters=counters,
            # Only sensitive values are removed from what the node gets. The node works with the credentials of callers.
            secrets=self._redactor.sensitive if self._redactor is not None else None,
            find_recorded=self._state.envelopes.get if records else no_record,
            is_validated=is_validated,
        )
