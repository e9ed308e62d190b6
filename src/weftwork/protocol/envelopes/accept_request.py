"""The request body of the test endpoint for the gate: the rules of one judgement as a caller writes them.

A member that does not have the form it should have counts as absent, so that no body is an error; only an envelope has
to be there. Source: RFC 0021 (conformance), readings (Seam of the gate).
"""

from typing import Any, Final, get_args

import msgspec

from weftwork.protocol.envelopes.gate_rules import (
    Counter,
    Counters,
    EnvelopeContract,
    GateRules,
    GateVerdict,
)
from weftwork.protocol.envelopes.kinds import KindSet
from weftwork.protocol.envelopes.outcome import Accepted, Breached, Gated, RefusalMode, outcome_document
from weftwork.protocol.envelopes.reassembly import MAX_ID
from weftwork.protocol.ids import is_node_id, is_path_id
from weftwork.protocol.json.decoder import MAX_INTEGER
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.privacy.secret_matcher import SecretMatcher, redact_value
from weftwork.protocol.run.events import Trust

CAPABILITY: Final = "host.aiEnvelope.supported"
APPROVAL_KIND: Final = "approval"
MAX_SECRETS: Final = 64
"""Of one call; more are not looked for."""
_COUNTERS: Final = ("envelopesPerTurn", "schemaRounds", "clarificationRounds")
DEFAULT_NODE_ID: Final = "node"
"""The node of a projection that names none."""

RecordableOutcome = Accepted | Gated | Breached


class PriorOutcome(msgspec.Struct, frozen=True):
    """An outcome that the caller says there was, whatever it looks like."""

    type: str
    document: dict[str, Any]


class ProjectionTarget(msgspec.Struct, frozen=True):
    run_id: str
    node_id: str


class AcceptRequest(msgspec.Struct, frozen=True):
    """All that a body says beside the envelope."""

    rules: GateRules
    prior_outcomes: dict[str, PriorOutcome] = {}
    """By correlation id."""
    dedup_run_id: str | None = None
    """The run whose recorded outcomes count."""
    projection: ProjectionTarget | None = None


def parse_accept_request(body: dict[str, Any], kinds: KindSet, capable: bool) -> AcceptRequest:
    """env-31 (RFC 0021, conformance): every field of the body as the rule that it stands for."""
    given = body.get
    target = given("projectTo")
    mode = _one_of(target.get("refusalMode"), RefusalMode) if is_object(target) else None
    contract = EnvelopeContract(_names(given("nodeAllowedKinds")), mode or "fail-node")
    floor = given("schemaVersionFloor")
    named = ((name, _integer(each)) for name, each in floor.items()) if is_object(floor) else ()
    versions = {name: version for name, version in named if version is not None}
    canaries, counts = given("byokCanaries"), given("counters")
    rules = GateRules(
        kinds,
        supported=_names(given("hostSupportedEnvelopes")),
        contract=contract,
        versions=versions if is_object(floor) else None,
        strict=given("envelopeStrictness") == "strict",
        counters=Counters(*map(_counter, map(counts.get, _COUNTERS))) if is_object(counts) else Counters(),
        secrets=_secrets(canaries) if is_array(canaries) else None,
        trust=_one_of(given("runTrustBoundary"), Trust),
        advances_approval=given("approvalGateContext") is True or given("boundInterruptKind") == APPROVAL_KIND,
        envelopes_supported=capable,
    )
    durable = given("persistedDedup")
    return AcceptRequest(
        rules,
        _prior_outcomes(given("priorCorrelations")),
        _run_id(durable) if is_object(durable) else None,
        _projection(target, body.get("envelope"), rules),
    )


def mask_name(text: str, rules: GateRules) -> str:
    """A name without secrets, as the gate shows it."""
    return text if rules.secrets is None else rules.secrets.mask(text)[:MAX_ID]


def outcome_response(verdict: GateVerdict, given: AcceptRequest) -> dict[str, Any]:
    """env-37 (readings, Seam of the gate): the outcome as a document. What secrets have to do with it is told to
    those who gave some; an outcome that was recorded before they were known is shown without them all the same."""
    outcome, secrets = verdict.outcome, given.rules.secrets
    if verdict.repeated and isinstance(outcome, Accepted) and secrets is not None:
        payload, count = redact_value(outcome.payload, secrets)
        outcome = msgspec.structs.replace(outcome, payload=payload, redactions=outcome.redactions + count)
    document = outcome_document(outcome)
    if secrets is None:
        document.pop("redactedPayload", None)
        document.pop("redactionCount", None)
    return document


def partial_rules(rules: GateRules) -> GateRules:
    """What can be said of a piece before the others are there: everything but whether the payload fits."""
    return msgspec.structs.replace(rules, kinds=KindSet({}), versions=rules.versions or rules.kinds.versions)


def _names(value: Any) -> frozenset[str] | None:
    return frozenset(each for each in value if isinstance(each, str)) if is_array(value) else None


def _one_of(value: Any, choices: Any) -> Any:
    return value if isinstance(value, str) and value in get_args(choices) else None


def _integer(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= MAX_INTEGER and value == int(value) else None


def _counter(value: Any) -> Counter | None:
    if not is_object(value):
        return None
    current, cap = _integer(value.get("current")), _integer(value.get("cap"))
    return Counter(current, cap) if current is not None and cap is not None else None


def _secrets(canaries: list[Any]) -> SecretMatcher:
    secrets = SecretMatcher()
    for each in canaries[:MAX_SECRETS]:
        if is_object(each):
            name, value = each.get("secretId"), each.get("value")
            if isinstance(name, str) and isinstance(value, str) and name and value:
                secrets.learn_secret(name, value)
    return secrets


def _prior_outcomes(value: Any) -> dict[str, PriorOutcome]:
    found: dict[str, PriorOutcome] = {}
    for each in value if is_array(value) else ():
        if not is_object(each):
            continue
        name, kind, outcome = each.get("correlationId"), each.get("envelopeType"), each.get("outcome")
        if not isinstance(name, str) or not isinstance(kind, str):
            continue
        if is_object(outcome) and isinstance(outcome.get("status"), str):
            found.setdefault(name, PriorOutcome(kind, outcome))
    return found


def _run_id(value: dict[str, Any]) -> str | None:
    run_id = value.get("runId")
    return run_id if isinstance(run_id, str) and is_path_id(run_id) else None


def _projection(target: Any, envelope: Any, rules: GateRules) -> ProjectionTarget | None:
    run_id = _run_id(target) if is_object(target) else None
    if run_id is None:
        return None
    named = (target.get("nodeId"), envelope.get("nodeId") if is_object(envelope) else None)
    node_id = next((each for each in named if isinstance(each, str) and is_node_id(each)), DEFAULT_NODE_ID)
    return ProjectionTarget(run_id, mask_name(node_id, rules))
