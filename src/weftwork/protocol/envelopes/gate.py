"""The gate: decides whether an envelope from a model is accepted. Every envelope passes through it. Pure; never raises.

Theory of operation. The protocol defines the steps and their order (RFC 0021, production flow). Each step is one
function over the GateContext, which holds the document, the rules and the results of earlier steps. The first step
that returns an outcome ends the evaluation. If no step does, the envelope is accepted. An outcome contains nothing of
the submitted document except its payload and its names (kind and ids), and both only after known secrets were removed.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.checks import (
    INVALID_SHAPE,
    check_payload,
    check_shape,
    check_version,
    correlation_conflict,
    encode_document,
    invalid_at,
)
from weftwork.protocol.envelopes.gate_rules import Counter, Counters, GateRules, GateStep, GateVerdict, RecordedOutcome
from weftwork.protocol.envelopes.kinds import CLARIFICATION_KIND, DISPLAY_KINDS, SCHEMA_REQUEST_KIND, UNIVERSAL_KINDS
from weftwork.protocol.envelopes.outcome import (
    Accepted,
    Breached,
    CapKind,
    EnvelopeOutcome,
    Gated,
    Invalid,
    RefusalMode,
)
from weftwork.protocol.json.decoder import MAX_DEPTH, MAX_INTEGER
from weftwork.protocol.privacy.secret_matcher import redact_value
from weftwork.protocol.run.events import Trust

MAX_TYPE: Final = 256
MAX_ID: Final = 128
"""Length limits of the schema, in characters. Masking can lengthen a name, so masked names are cut to these limits."""

UNCHECKED_WARNING: Final = "no schema is known for this kind, so its payload was not checked"

Cap = tuple[CapKind, str, Callable[[Counters], Counter | None]]
_ENVELOPE_CAP: Final[Cap] = ("envelopes", "envelopesPerTurn", lambda counters: counters.envelopes)
_KIND_CAPS: Final[dict[str, Cap]] = {
    CLARIFICATION_KIND: ("clarification", "clarificationRounds", lambda counters: counters.clarification),
    SCHEMA_REQUEST_KIND: ("schema", "schemaRounds", lambda counters: counters.schema),
}


class GateContext(msgspec.Struct, eq=False):
    """The document, the gate rules, and the results of the steps so far."""

    document: Any
    rules: GateRules
    encoded: bytes = b""
    type: str = ""
    visible_type: str = ""
    envelope_id: str = ""
    correlation_id: str = ""
    version: int = 0
    payload: Any = None
    redactions: int = 0
    is_validated: bool = False
    drift: bool = False
    repeated: bool = False
    trust: Trust = "trusted"
    warnings: tuple[str, ...] = ()
    _is_clean: bool | None = None
    _recorded: RecordedOutcome | bool | None = False

    def read_members(self, document: dict[str, Any]) -> None:
        """Read the members that every envelope has, and mask secrets in all names that may be shown or recorded.

        env-14 (RFC 0021, trust): the envelope's `contentTrust` takes precedence over the trust of the run.
        """
        meta = document["meta"]
        self.type = document["type"]
        self.payload = document["payload"]
        # JSON Schema counts 1e300 as an integer, but strict JSON readers reject integers that large.
        self.version = min(int(document.get("schemaVersion", 0)), MAX_INTEGER)
        self.trust = meta.get("contentTrust") or self.rules.trust or "trusted"
        # The name of a registered kind comes from the host or a workflow, not from the model. It is shown unmasked even
        # if it contains the text of a secret.
        is_registered = self.rules.kinds.find(self.type) is not None
        self.visible_type = self.type if is_registered else self._mask_name(self.type, MAX_TYPE)
        self.envelope_id = self._mask_name(document["envelopeId"], MAX_ID)
        self.correlation_id = self._mask_name(document["correlationId"], MAX_ID)

    def redact(self) -> None:
        secrets = self.rules.secrets
        if secrets is not None and not self.is_clean:
            self.payload, self.redactions = redact_value(self.payload, secrets)

    @property
    def is_clean(self) -> bool:
        """Whether the document certainly contains no secret. False does not prove that it contains one."""
        if self._is_clean is None:
            self._is_clean = self.rules.secrets is None or self.rules.secrets.is_absent_in_json(self.encoded)
        return self._is_clean

    @property
    def recorded(self) -> RecordedOutcome | None:
        if self._recorded is False:
            # The outcome may have been recorded before a part of the correlation id became a known secret.
            original_id = str(self.document["correlationId"])
            self._recorded = self.rules.find_recorded(original_id) or self.rules.find_recorded(self.correlation_id)
        return self._recorded if isinstance(self._recorded, RecordedOutcome) else None

    @property
    def prior_outcome(self) -> EnvelopeOutcome | None:
        """The recorded outcome under this correlation id, if its envelope had the same kind."""
        recorded = self.recorded
        return recorded.outcome if recorded is not None and recorded.type in (self.type, self.visible_type) else None

    def verdict(self, outcome: EnvelopeOutcome) -> GateVerdict:
        """The verdict with the envelope's kind, ids and version. Secrets in them are masked."""
        names = self.visible_type, self.envelope_id, self.correlation_id
        return GateVerdict(outcome, self.repeated, *names, self.version, self.is_validated)

    def _mask_name(self, text: str, longest: int) -> str:
        if self.rules.secrets is None or self.is_clean:
            return text
        return self.rules.secrets.mask(text)[:longest]


Step = Callable[[GateContext], EnvelopeOutcome | None]


def capability_step(context: GateContext) -> EnvelopeOutcome | None:
    """env-18 (RFC 0021, host.aiEnvelope): reject every envelope if the host does not support envelopes."""
    if context.rules.envelopes_supported:
        return None
    return Invalid("capability_required", "capability_required")


def shape_step(context: GateContext) -> EnvelopeOutcome | None:
    """env-04: reject a document that lacks the members of an envelope or has an invalid time."""
    text = encode_document(context.document)
    if text is None:
        return invalid_at(INVALID_SHAPE, "", "#", "type", f"must be JSON, nested at most {MAX_DEPTH} levels deep")
    invalid = check_shape(context.document, context.rules.is_validated)
    if invalid is None:
        context.encoded = text
        context.read_members(context.document)
    return invalid


def kind_step(context: GateContext) -> EnvelopeOutcome | None:
    """env-12 (RFC 0021, supportedEnvelopes): refuse kinds that the host does not accept. Universal kinds pass."""
    supported = context.rules.supported
    if supported is None or context.type in supported or context.type in UNIVERSAL_KINDS:
        return None
    mode = context.rules.contract.refusal_mode
    recorded_payload: Any = None
    if context.type in DISPLAY_KINDS:
        # A host that cannot display the content is not an error of the run. The payload is recorded, and the run
        # continues.
        mode = "discard-and-warn"
        context.redact()
        recorded_payload = context.payload
    text = "this host does not accept envelopes of this kind"
    return _gated(context, "unknown_envelope_kind", text, supported, mode, recorded_payload)


def payload_step(context: GateContext) -> EnvelopeOutcome | None:
    """env-06, env-07: check the version first, then the payload."""
    rules = context.rules
    definition = rules.kinds.find(context.type)
    advertised = rules.advertised(context.type)
    if advertised is not None:
        invalid = check_version(context.version, advertised, rules.strict)
        if invalid is not None:
            return invalid
        context.drift = context.version < advertised
    if definition is None:
        context.warnings = (UNCHECKED_WARNING,)
        return None
    invalid = check_payload(context.type, context.payload, definition.validator, rules.supported, rules.is_validated)
    context.is_validated = invalid is None
    return invalid


def contract_step(context: GateContext) -> EnvelopeOutcome | None:
    """env-13 (RFC 0021, Envelope Contract): refuse kinds that the node does not accept. Universal kinds pass."""
    contract = context.rules.contract
    if contract.accepts is None or context.type in contract.accepts or context.type in UNIVERSAL_KINDS:
        return None
    text = "this node does not accept envelopes of this kind"
    return _gated(context, "envelope_contract_violation", text, contract.accepts, contract.refusal_mode)


def limits_step(context: GateContext) -> EnvelopeOutcome | None:
    """env-08: refuse an envelope over its cap. An envelope that is sent again was counted the first time and passes."""
    cap, name, select_counter = _KIND_CAPS.get(context.type, _ENVELOPE_CAP)
    counter = select_counter(context.rules.counters)
    if counter is None or counter.current < counter.cap:
        return None
    if context.prior_outcome is not None and not isinstance(context.prior_outcome, Breached):
        return None
    observed = max(counter.current, counter.cap) + 1
    reason = f"{name} cap ({counter.cap}) breached"
    return Breached(cap, counter.cap, observed, reason, context.trust, context.correlation_id)


def redaction_step(context: GateContext) -> EnvelopeOutcome | None:
    """env-11: redact secrets. Runs after the checks, so that a redaction marker cannot make a payload invalid."""
    context.redact()
    return None


def trust_step(context: GateContext) -> EnvelopeOutcome | None:
    """env-14 (RFC 0021, trust): untrusted content must not advance an approval."""
    if context.rules.advances_approval and context.trust == "untrusted":
        return Invalid("untrusted_content_blocks_approval", "untrusted_content_blocks_approval")
    return None


def dedup_step(context: GateContext) -> EnvelopeOutcome | None:
    """env-15 (RFC 0021, correlation): return the outcome recorded under the correlation id. An envelope of another kind
    under the same id is a conflict."""
    if context.recorded is None:
        return None
    if context.prior_outcome is None:
        return correlation_conflict()
    context.repeated = True
    return context.prior_outcome


STEPS: Final[tuple[tuple[str, Step], ...]] = (
    ("capability", capability_step),
    ("shape", shape_step),
    ("kind", kind_step),
    ("payload", payload_step),
    ("contract", contract_step),
    ("limits", limits_step),
    ("redaction", redaction_step),
    ("trust", trust_step),
    ("dedup", dedup_step),
)
"""env-09 (RFC 0021, production flow): the protocol defines this order."""


def accept(document: Any, rules: GateRules) -> GateVerdict:
    """env-10: judge a document. Deterministic, and never raises for any document."""
    context = GateContext(document, rules)
    for _, step in STEPS:
        outcome = step(context)
        if outcome is not None:
            return _final_verdict(context, outcome)
    return _accepted_verdict(context)


def explain(document: Any, rules: GateRules) -> tuple[GateVerdict, list[GateStep]]:
    """The verdict of `accept`, with the result of each step up to the one that decided it."""
    context = GateContext(document, rules)
    steps: list[GateStep] = []
    for name, step in STEPS:
        outcome = step(context)
        if outcome is not None:
            verdict = _final_verdict(context, outcome)
            final = verdict.outcome
            if verdict.repeated or isinstance(final, Accepted):
                steps.append(GateStep(name, True, "The outcome was recorded earlier and is returned unchanged."))
            else:
                steps.append(GateStep(name, False, final.reason))
            return verdict, steps
        steps.append(GateStep(name, True, _PASS_NOTES[name](context)))
    return _accepted_verdict(context), steps


def _accepted_verdict(context: GateContext) -> GateVerdict:
    accepted = Accepted(
        context.visible_type,
        context.envelope_id,
        context.correlation_id,
        context.payload,
        content_trust=context.trust,
        schema_version=context.version,
        redactions=context.redactions,
        drift=context.drift,
        warnings=context.warnings,
    )
    return context.verdict(accepted)


def _final_verdict(context: GateContext, outcome: EnvelopeOutcome) -> GateVerdict:
    """Prefer the outcome that is already recorded under the correlation id. A cap or contract that refuses the
    envelope now does not change a recorded outcome."""
    if isinstance(outcome, Gated | Breached) and not context.repeated and context.recorded is not None:
        if context.prior_outcome is None:
            return context.verdict(correlation_conflict())
        context.repeated = True
        outcome = context.prior_outcome
    return context.verdict(outcome)


def _gated(
    context: GateContext, code: str, text: str, accepted: frozenset[str], mode: RefusalMode, payload: Any = None
) -> Gated:
    allowed = (*UNIVERSAL_KINDS, *sorted(accepted.difference(UNIVERSAL_KINDS)))
    kind, name = context.visible_type, context.correlation_id
    return Gated(code, f"{code}: {text}", kind, allowed, mode, payload, context.trust, name)


def _payload_note(context: GateContext) -> str:
    if context.warnings:
        return f"Passed, but {context.warnings[0]}."
    if context.drift:
        return "The payload is valid. Its schemaVersion is older than the advertised version."
    return "The payload is valid."


_PASS_NOTES: Final[dict[str, Callable[[GateContext], str]]] = {
    "capability": lambda context: "The host supports envelopes.",
    "shape": lambda context: "The document is an envelope.",
    "kind": lambda context: (
        "The host accepts this kind." if context.rules.supported is not None else "The host accepts any kind."
    ),
    "payload": _payload_note,
    "contract": lambda context: "The node accepts this kind.",
    "limits": lambda context: "No limit is exceeded.",
    "redaction": lambda context: f"Secrets replaced in the payload: {context.redactions}.",
    "trust": lambda context: f"The content is {context.trust}.",
    "dedup": lambda context: "Nothing is recorded under the correlation id.",
}
