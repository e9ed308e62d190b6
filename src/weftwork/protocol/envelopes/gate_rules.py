"""The rules of one judgement: everything that the gate knows in addition to the envelope itself.

The contract of a node says which kinds it takes, what becomes of them, and of others.
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
    """RFC 0021, Envelope Contract. The universal kinds are always taken and need not be listed."""

    accepts: frozenset[str] | None = None
    """None accepts every kind that the host accepts."""
    refusal_mode: RefusalMode = "fail-node"
    artifacts: frozenset[str] = frozenset()
    """Kinds that become artifacts of the run; every other one becomes an output of the node."""


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
    """ai-01 (RFC 0021, Envelope Contract): the contract that stands at the pointer `at`, or what is wrong with it.

    The text leaves its members open; a member that nobody would heed is refused. One without `accepts` takes whatever
    the host takes.
    """
    violations = check_inline(_CONTRACT_SCHEMA, document, at)
    if violations:
        return OPEN_CONTRACT, violations
    accepts: list[str] | None = document.get("accepts")
    artifacts: list[str] = document.get("artifacts", [])
    violations = [
        Violation(f"{at}/artifacts/{index}", "reference", "is not among the kinds that the node accepts")
        for index, kind in enumerate(artifacts)
        if accepts is not None and kind not in accepts
    ]
    if violations:
        return OPEN_CONTRACT, violations
    taken = frozenset(accepts) if accepts is not None else None
    return EnvelopeContract(taken, document.get("refusalMode", "fail-node"), frozenset(artifacts)), []


class Counter(msgspec.Struct, frozen=True):
    """How many there were, and how many there may be."""

    current: int
    cap: int


class Counters(msgspec.Struct, frozen=True):
    """env-08 (RFC 0021, limits): what is counted. None is not counted."""

    envelopes: Counter | None = None
    schema: Counter | None = None
    clarification: Counter | None = None


class RecordedOutcome(msgspec.Struct, frozen=True):
    """What is recorded under a correlation id."""

    type: str
    outcome: EnvelopeOutcome


def no_record(correlation_id: str) -> RecordedOutcome | None:
    return None


class GateRules(msgspec.Struct, frozen=True):
    kinds: KindSet
    """Kinds whose payloads can be checked, with their schemas and versions."""
    supported: frozenset[str] | None = None
    """Kinds that the host takes beside the universal ones. None: any."""
    contract: EnvelopeContract = OPEN_CONTRACT
    versions: dict[str, int] | None = None
    """Advertised versions by kind. None: those of `kinds`."""
    strict: bool = False
    """Whether an envelope for an older version is refused instead of accepted with a mark."""
    counters: Counters = Counters()
    secrets: SecretMatcher | None = None
    """What must not stand in a payload."""
    trust: Trust | None = None
    """Of the run as a whole, for an envelope that says nothing itself."""
    advances_approval: bool = False
    envelopes_supported: bool = True
    find_recorded: Callable[[str], RecordedOutcome | None] = no_record
    is_validated: bool = False
    """Whether an earlier verdict on the same document, by the same kinds, was `is_validated`: then the schemas are not
    applied a second time. All other rules are."""

    def advertised(self, kind: str) -> int | None:
        """The version that envelopes of this kind are measured by; None where there is none."""
        found = self.kinds.find(kind)
        return (self.versions or {}).get(kind, None if found is None else found.version)


class GateVerdict(msgspec.Struct, frozen=True):
    """The outcome, and whether it is one that was recorded before: then nothing more is to be done."""

    outcome: EnvelopeOutcome
    repeated: bool = False
    type: str = ""
    envelope_id: str = ""
    correlation_id: str = ""
    """What the envelope is known by, with secrets taken out of it; empty if it is none."""
    schema_version: int = 0
    is_validated: bool = False
    """Whether the document and its payload have been held against their schemas, and fit."""


class GateStep(msgspec.Struct, frozen=True):
    """One step of the judgement, for those who want to see how it went."""

    step: str
    """capability, shape, kind, payload, contract, limits, redaction, trust or dedup."""
    passed: bool
    note: str
    """In plain words, without anything of the payload."""
