"""The envelope contract of a node: which kinds it takes, what becomes of them, and of others."""

from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.kind import UNIVERSAL_KINDS
from weftwork.protocol.envelopes.outcome import RefusalMode
from weftwork.protocol.json.schema import Violation, check_inline

MAX_KINDS: Final = 100
MAX_KIND: Final = 256
"""Characters in the name of a kind."""


class EnvelopeContract(msgspec.Struct, frozen=True):
    """RFC 0021, Envelope Contract. The universal kinds are always taken and need not be listed."""

    accepts: frozenset[str] | None = None
    """None: whatever the host takes."""
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
