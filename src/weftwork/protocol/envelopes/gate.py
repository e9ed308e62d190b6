"""The gate: judges every envelope that a model sends, and is the only place that does. Pure; never raises.

Theory of operation. The steps and their order are the protocol's (RFC 0021, production flow). Each step is one function
over the GateContext, which holds the document, the rules and what earlier steps have found out. The first step that
returns an outcome ends the judgement; if none does, the envelope is accepted. An outcome repeats nothing of what was
sent except the payload and the names of the envelope, and those only after every known secret has been removed.
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
from weftwork.protocol.json.decoder import MAX_INTEGER
from weftwork.protocol.privacy.secret_matcher import redact_value
from weftwork.protocol.run.events import Trust

MAX_TYPE: Final = 256
MAX_ID: Final = 128
"""Characters that the schema allows, and that are left when a marker has made a name longer."""

UNCHECKED_WARNING: Final = "no schema is known for this kind, so its payload was not checked"

Cap = tuple[CapKind, str, Callable[[Counters], Counter | None]]
_ENVELOPE_CAP: Final[Cap] = ("envelopes", "envelopesPerTurn", lambda counters: counters.envelopes)
_KIND_CAPS: Final[dict[str, Cap]] = {
    CLARIFICATION_KIND: ("clarification", "clarificationRounds", lambda counters: counters.clarification),
    SCHEMA_REQUEST_KIND: ("schema", "schemaRounds", lambda counters: counters.schema),
}


class GateContext(msgspec.Struct, eq=False):
    """A document, the rules that hold for it, and what the steps have found out about it."""

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
        """Take what every envelope has, with secrets taken out of all names that may be shown or recorded.

        env-14 (RFC 0021, trust): the envelope's own tag wins over that of the run.
        """
        meta = document["meta"]
        self.type = document["type"]
        self.payload = document["payload"]
        # 1e300 is a whole number too, and one that no strict reader takes.
        self.version = min(int(document.get("schemaVersion", 0)), MAX_INTEGER)
        self.trust = meta.get("contentTrust") or self.rules.trust or "trusted"
        # A kind that is known is a word of its author, whatever a secret happens to be spelled like.
        known = self.rules.kinds.find(self.type) is not None
        self.visible_type = self.type if known else self._mask_name(self.type, MAX_TYPE)
        self.envelope_id = self._mask_name(document["envelopeId"], MAX_ID)
        self.correlation_id = self._mask_name(document["correlationId"], MAX_ID)

    def redact(self) -> None:
        secrets = self.rules.secrets
        if secrets is not None and not self.is_clean:
            self.payload, self.redactions = redact_value(self.payload, secrets)

    @property
    def is_clean(self) -> bool:
        """Whether there is surely no secret anywhere in the document."""
        if self._is_clean is None:
            self._is_clean = self.rules.secrets is None or self.rules.secrets.is_absent_in_json(self.encoded)
        return self._is_clean

    @property
    def recorded(self) -> RecordedOutcome | None:
        if self._recorded is False:
            # It may have been recorded before something in it came to be a secret.
            sent = str(self.document["correlationId"])
            self._recorded = self.rules.find_recorded(sent) or self.rules.find_recorded(self.correlation_id)
        return self._recorded if isinstance(self._recorded, RecordedOutcome) else None

    @property
    def prior_outcome(self) -> EnvelopeOutcome | None:
        """What was recorded of this envelope before."""
        known = self.recorded
        return known.outcome if known is not None and known.type in (self.type, self.visible_type) else None

    def verdict(self, outcome: EnvelopeOutcome) -> GateVerdict:
        """The verdict on this envelope, with its kind, ids and version as they may be recorded."""
        names = self.visible_type, self.envelope_id, self.correlation_id
        return GateVerdict(outcome, self.repeated, *names, self.version, self.is_validated)

    def _mask_name(self, text: str, longest: int) -> str:
        if self.rules.secrets is None or self.is_clean:
            return text
        return self.rules.secrets.mask(text)[:longest]


Step = Callable[[GateContext], EnvelopeOutcome | None]


def capability_step(case: GateContext) -> EnvelopeOutcome | None:
    """env-18 (RFC 0021, host.aiEnvelope): a host that offers no envelopes takes none."""
    if case.rules.envelopes_supported:
        return None
    return Invalid("capability_required", "capability_required")


def shape_step(case: GateContext) -> EnvelopeOutcome | None:
    """env-04: an envelope has its members, and a time that is one."""
    text = encode_document(case.document)
    if text is None:
        return invalid_at(INVALID_SHAPE, "", "#", "type", "must be JSON, and not nested too deep")
    invalid = check_shape(case.document, case.rules.is_validated)
    if invalid is None:
        case.encoded = text
        case.read_members(case.document)
    return invalid


def kind_step(case: GateContext) -> EnvelopeOutcome | None:
    """env-12 (RFC 0021, supportedEnvelopes): a kind that the host does not take. The universal ones it does."""
    supported = case.rules.supported
    if supported is None or case.type in supported or case.type in UNIVERSAL_KINDS:
        return None
    mode = case.rules.contract.refusal_mode
    kept: Any = None
    if case.type in DISPLAY_KINDS:
        # Not shown is no fault of the run: what was said is kept, and the run goes on.
        mode = "discard-and-warn"
        case.redact()
        kept = case.payload
    text = "this host does not take envelopes of this kind"
    return _gated(case, "unknown_envelope_kind", text, supported, mode, kept)


def payload_step(case: GateContext) -> EnvelopeOutcome | None:
    """env-06, env-07: the version first, then the form."""
    rules = case.rules
    known = rules.kinds.find(case.type)
    advertised = rules.advertised(case.type)
    if advertised is not None:
        drifted = check_version(case.version, advertised, rules.strict)
        if drifted is not None:
            return drifted
        case.drift = case.version < advertised
    if known is None:
        case.warnings = (UNCHECKED_WARNING,)
        return None
    invalid = check_payload(case.type, case.payload, known.validator, rules.supported, rules.is_validated)
    case.is_validated = invalid is None
    return invalid


def contract_step(case: GateContext) -> EnvelopeOutcome | None:
    """env-13 (RFC 0021, Envelope Contract): a kind that the node does not take. The universal ones it does."""
    taken = case.rules.contract
    if taken.accepts is None or case.type in taken.accepts or case.type in UNIVERSAL_KINDS:
        return None
    text = "this node does not take envelopes of this kind"
    return _gated(case, "envelope_contract_violation", text, taken.accepts, taken.refusal_mode)


def limits_step(case: GateContext) -> EnvelopeOutcome | None:
    """env-08: one too many. What is sent again was counted the first time."""
    cap, name, counted = _KIND_CAPS.get(case.type, _ENVELOPE_CAP)
    counter = counted(case.rules.counters)
    if counter is None or counter.current < counter.cap:
        return None
    if case.prior_outcome is not None and not isinstance(case.prior_outcome, Breached):
        return None
    observed = max(counter.current, counter.cap) + 1
    reason = f"{name} cap ({counter.cap}) breached"
    return Breached(cap, counter.cap, observed, reason, case.trust, case.correlation_id)


def redaction_step(case: GateContext) -> EnvelopeOutcome | None:
    """env-11: after the checks, so that a marker never breaks one."""
    case.redact()
    return None


def trust_step(case: GateContext) -> EnvelopeOutcome | None:
    """env-14 (RFC 0021, trust): no approval moves on untrusted content."""
    if case.rules.advances_approval and case.trust == "untrusted":
        return Invalid("untrusted_content_blocks_approval", "untrusted_content_blocks_approval")
    return None


def dedup_step(case: GateContext) -> EnvelopeOutcome | None:
    """env-15 (RFC 0021, correlation): what is recorded under the id is the outcome; another kind is refused."""
    if case.recorded is None:
        return None
    if case.prior_outcome is None:
        return correlation_conflict()
    case.repeated = True
    return case.prior_outcome


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
"""env-09 (RFC 0021, production flow): the order is part of the protocol."""


def accept(document: Any, rules: GateRules) -> GateVerdict:
    """env-10: what the gate says of a document. The same for the same document and rules, whatever they are."""
    case = GateContext(document, rules)
    for _, step in STEPS:
        outcome = step(case)
        if outcome is not None:
            return _final_verdict(case, outcome)
    return _accepted_verdict(case)


def explain(document: Any, rules: GateRules) -> tuple[GateVerdict, list[GateStep]]:
    """The same verdict, with what every step said up to the one that ended it."""
    case = GateContext(document, rules)
    said: list[GateStep] = []
    for name, step in STEPS:
        outcome = step(case)
        if outcome is not None:
            verdict = _final_verdict(case, outcome)
            ended = verdict.outcome
            if verdict.repeated or isinstance(ended, Accepted):
                said.append(GateStep(name, True, "The outcome was recorded before; nothing more is done."))
            else:
                said.append(GateStep(name, False, ended.reason))
            return verdict, said
        said.append(GateStep(name, True, _PASS_NOTES[name](case)))
    return _accepted_verdict(case), said


def _accepted_verdict(case: GateContext) -> GateVerdict:
    accepted = Accepted(
        case.visible_type,
        case.envelope_id,
        case.correlation_id,
        case.payload,
        content_trust=case.trust,
        schema_version=case.version,
        redactions=case.redactions,
        drift=case.drift,
        warnings=case.warnings,
    )
    return case.verdict(accepted)


def _final_verdict(case: GateContext, outcome: EnvelopeOutcome) -> GateVerdict:
    """What is recorded under the id stays: a gate that was closed since does not change it."""
    if isinstance(outcome, Gated | Breached) and not case.repeated and case.recorded is not None:
        if case.prior_outcome is None:
            return case.verdict(correlation_conflict())
        case.repeated = True
        outcome = case.prior_outcome
    return case.verdict(outcome)


def _gated(
    case: GateContext, code: str, text: str, taken: frozenset[str], mode: RefusalMode, payload: Any = None
) -> Gated:
    allowed = (*UNIVERSAL_KINDS, *sorted(taken.difference(UNIVERSAL_KINDS)))
    kind, name = case.visible_type, case.correlation_id
    return Gated(code, f"{code}: {text}", kind, allowed, mode, payload, case.trust, name)


def _payload_note(case: GateContext) -> str:
    if case.warnings:
        return f"Passed, but {case.warnings[0]}."
    return "The payload fits an older version of its kind." if case.drift else "The payload fits its kind."


_PASS_NOTES: Final[dict[str, Callable[[GateContext], str]]] = {
    "capability": lambda case: "The host takes envelopes.",
    "shape": lambda case: "The document is an envelope.",
    "kind": lambda case: (
        "The host takes this kind." if case.rules.supported is not None else "The host takes any kind."
    ),
    "payload": _payload_note,
    "contract": lambda case: "The node takes this kind.",
    "limits": lambda case: "No limit is reached.",
    "redaction": lambda case: f"Secrets replaced in the payload: {case.redactions}.",
    "trust": lambda case: f"The content is {case.trust}.",
    "dedup": lambda case: "Nothing is recorded under the correlation id.",
}
