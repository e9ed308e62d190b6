"""The rules that the gate applies to one envelope, and its verdict.

A node's envelope contract lists the kinds that the node accepts, whether they become outputs or artifacts, and how
other kinds are refused.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.kinds import UNIVERSAL_KINDS, KindSet
from weftwork.protocol.envelopes.outcome import EnvelopeOutcome, RefusalMode
from weftwork.protocol.json.schema import Violation, check_inline
from weftwork.protocol.privacy.secret_matcher import SecretMatcher
from weftwork.protocol.run.events import Trust

MAX_KINDS: Final = 100
MAX_KIND: Final = 256
"""Characters in the name of a kind."""


class EnvelopeContract(msgspec.Struct, frozen=True):
    """RFC 0021, Envelope Contract. The universal kinds are always accepted and need not be listed."""

    accepts: frozenset[str] | None = None
    """None accepts every kind that the host accepts."""
    refusal_mode: RefusalMode = "fail-node"
    artifacts: frozenset[str] = frozenset()
    """Kinds that become artifacts of the run. Every other kind becomes an output of the node."""


OPEN_CONTRACT = EnvelopeContract()

_KIND_SCHEMA: Final[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": MAX_KIND}
_CONTRACT_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "accepts": {"type": "array", "maxItems": MAX_KINDS, "items": _KIND_SCHEMA},
        "refusalMode": {"enum": ["fail-node", "discard-and-warn"]},
        "alwaysAccepted": {"type": "array", "maxItems": MAX_KINDS, "items": {"enum": list(UNIVERSAL_KINDS)}},
        "artifacts": {
            "type": "array",
            "maxItems": MAX_KINDS,
            "items": {**_KIND_SCHEMA, "not": {"enum": list(UNIVERSAL_KINDS)}},
        },
    },
    "additionalProperties": False,
}


def parse_contract(document: Any, at: str) -> tuple[EnvelopeContract, list[Violation]]:
    """ai-01 (RFC 0021, Envelope Contract): parse the contract at the pointer `at`. The contract is valid only if the
    list of violations is empty.

    The RFC leaves the members of a contract open. This host refuses members that it would ignore. A contract without
    `accepts` accepts every kind that the host accepts.
    """
    violations = check_inline(_CONTRACT_SCHEMA, document, at)
    if violations:
        return OPEN_CONTRACT, violations
    accepts: list[str] | None = document.get("accepts")
    artifacts: list[str] = document.get("artifacts", [])
    violations = [
        Violation(f"{at}/artifacts/{index}", "reference", "must also be listed in `accepts`")
        for index, kind in enumerate(artifacts)
        if accepts is not None and kind not in accepts
    ]
    if violations:
        return OPEN_CONTRACT, violations
    accepted_kinds = frozenset(accepts) if accepts is not None else None
    return EnvelopeContract(accepted_kinds, document.get("refusalMode", "fail-node"), frozenset(artifacts)), []


class Counter(msgspec.Struct, frozen=True):
    current: int
    cap: int


class Counters(msgspec.Struct, frozen=True):
    """env-08 (RFC 0021, limits): the counters that have a cap. None means no cap."""

    envelopes: Counter | None = None
    schema: Counter | None = None
    clarification: Counter | None = None


class RecordedOutcome(msgspec.Struct, frozen=True):
    """The outcome that is recorded under a correlation id, with the kind of its envelope."""

    type: str
    outcome: EnvelopeOutcome


def no_record(correlation_id: str) -> RecordedOutcome | None:
    return None


class GateRules(msgspec.Struct, frozen=True):
    kinds: KindSet
    """Kinds whose payloads can be checked, with their schemas and versions."""
    supported: frozenset[str] | None = None
    """Kinds that the host accepts in addition to the universal ones. None accepts any kind."""
    contract: EnvelopeContract = OPEN_CONTRACT
    versions: dict[str, int] | None = None
    """Advertised versions by kind. None uses the versions of `kinds`."""
    strict: bool = False
    """Whether an envelope of an older version is rejected. If false, it is accepted and marked as drifted."""
    counters: Counters = Counters()
    secrets: SecretMatcher | None = None
    """Secrets to redact from the payload and to mask in names."""
    trust: Trust | None = None
    """Trust of the run. Applies to envelopes without `meta.contentTrust`."""
    advances_approval: bool = False
    envelopes_supported: bool = True
    find_recorded: Callable[[str], RecordedOutcome | None] = no_record
    is_validated: bool = False
    """Skips the schema checks and the limits of a surface, and only those. Set it only if an earlier verdict on the
    same document with the same kinds was `is_validated`."""

    def advertised(self, kind: str) -> int | None:
        """The version that envelopes of this kind must have; None if the kind has no known version."""
        definition = self.kinds.find(kind)
        return (self.versions or {}).get(kind, None if definition is None else definition.version)


class GateVerdict(msgspec.Struct, frozen=True):
    """The outcome of one envelope. `type` and the ids have secrets masked, and are empty if the document is not an
    envelope."""

    outcome: EnvelopeOutcome
    repeated: bool = False
    """Whether the outcome was recorded earlier. If true, the caller must not record it or handle it again."""
    type: str = ""
    envelope_id: str = ""
    correlation_id: str = ""
    schema_version: int = 0
    is_validated: bool = False
    """Whether the document and its payload have passed their schemas."""


class GateStep(msgspec.Struct, frozen=True):
    """The result of one gate step, for `explain`."""

    step: str
    """capability, shape, kind, payload, contract, limits, redaction, trust or dedup."""
    passed: bool
    note: str
    """An explanation for people. It contains nothing of the payload."""
