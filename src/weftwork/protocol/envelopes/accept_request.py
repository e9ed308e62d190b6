"""Parses the request body of the gate's test endpoint: the gate rules for one envelope, as the caller writes them.

A malformed member counts as absent, so no body is an error. Only the `envelope` member is required. Source: RFC 0021
(conformance), readings (Seam of the gate).
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
"""Canaries read from one request; the rest are ignored."""
_COUNTERS: Final = ("envelopesPerTurn", "schemaRounds", "clarificationRounds")
DEFAULT_NODE_ID: Final = "node"
"""Node id used if neither `projectTo` nor the envelope has a valid one."""

RecordableOutcome = Accepted | Gated | Breached


class PriorOutcome(msgspec.Struct, frozen=True):
    """An earlier outcome as the caller states it. Its document is returned unchecked."""

    type: str
    document: dict[str, Any]


class ProjectionTarget(msgspec.Struct, frozen=True):
    run_id: str
    node_id: str


class AcceptRequest(msgspec.Struct, frozen=True):
    """The members of the body other than `envelope`."""

    rules: GateRules
    prior_outcomes: dict[str, PriorOutcome] = {}
    """By correlation id."""
    dedup_run_id: str | None = None
    """The run whose recorded outcomes are used for deduplication."""
    projection: ProjectionTarget | None = None


def parse_accept_request(body: dict[str, Any], kinds: KindSet, capable: bool) -> AcceptRequest:
    """env-31 (RFC 0021, conformance): translate each member of the body into the gate rule that it sets."""
    member = body.get
    target = member("projectTo")
    mode = _one_of(target.get("refusalMode"), RefusalMode) if is_object(target) else None
    contract = EnvelopeContract(_names(member("nodeAllowedKinds")), mode or "fail-node")
    floor = member("schemaVersionFloor")
    floors = ((name, _integer(each)) for name, each in floor.items()) if is_object(floor) else ()
    versions = {name: version for name, version in floors if version is not None}
    canaries, counts = member("byokCanaries"), member("counters")
    rules = GateRules(
        kinds,
        supported=_names(member("hostSupportedEnvelopes")),
        contract=contract,
        versions=versions if is_object(floor) else None,
        strict=member("envelopeStrictness") == "strict",
        counters=Counters(*map(_counter, map(counts.get, _COUNTERS))) if is_object(counts) else Counters(),
        secrets=_secrets(canaries) if is_array(canaries) else None,
        trust=_one_of(member("runTrustBoundary"), Trust),
        advances_approval=member("approvalGateContext") is True or member("boundInterruptKind") == APPROVAL_KIND,
        envelopes_supported=capable,
    )
    durable = member("persistedDedup")
    return AcceptRequest(
        rules,
        _prior_outcomes(member("priorCorrelations")),
        _run_id(durable) if is_object(durable) else None,
        _projection(target, member("envelope"), rules),
    )


def mask_name(text: str, rules: GateRules) -> str:
    """Return the name with secrets masked, as the gate shows it."""
    return text if rules.secrets is None else rules.secrets.mask(text)[:MAX_ID]


def outcome_response(verdict: GateVerdict, request: AcceptRequest) -> dict[str, Any]:
    """env-37 (readings, Seam of the gate): the outcome as a document.

    `redactedPayload` and `redactionCount` are present only if the request lists canaries. An outcome that was recorded
    before the canaries were known is redacted here.
    """
    outcome, secrets = verdict.outcome, request.rules.secrets
    if verdict.repeated and isinstance(outcome, Accepted) and secrets is not None:
        payload, count = redact_value(outcome.payload, secrets)
        outcome = msgspec.structs.replace(outcome, payload=payload, redactions=outcome.redactions + count)
    document = outcome_document(outcome)
    if secrets is None:
        document.pop("redactedPayload", None)
        document.pop("redactionCount", None)
    return document


def partial_rules(rules: GateRules) -> GateRules:
    """The rules for a single piece of a partial envelope: all of them except the payload check, which needs the whole
    payload."""
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
    outcomes: dict[str, PriorOutcome] = {}
    for each in value if is_array(value) else ():
        if not is_object(each):
            continue
        name, kind, outcome = each.get("correlationId"), each.get("envelopeType"), each.get("outcome")
        if not isinstance(name, str) or not isinstance(kind, str):
            continue
        if is_object(outcome) and isinstance(outcome.get("status"), str):
            outcomes.setdefault(name, PriorOutcome(kind, outcome))
    return outcomes


def _run_id(value: dict[str, Any]) -> str | None:
    run_id = value.get("runId")
    return run_id if isinstance(run_id, str) and is_path_id(run_id) else None


def _projection(target: Any, envelope: Any, rules: GateRules) -> ProjectionTarget | None:
    run_id = _run_id(target) if is_object(target) else None
    if run_id is None:
        return None
    node_ids = (target.get("nodeId"), envelope.get("nodeId") if is_object(envelope) else None)
    node_id = next((each for each in node_ids if isinstance(each, str) and is_node_id(each)), DEFAULT_NODE_ID)
    return ProjectionTarget(run_id, mask_name(node_id, rules))
