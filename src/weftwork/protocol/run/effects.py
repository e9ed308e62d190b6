"""The effect ledger: an effect on an external system is claimed before it happens and recorded afterwards.

Theory of operation. A claim is an event, so only one executor of a run can append it, and it is durable before the
effect starts. The outcome of the effect is another event. If an executor finds a claim of another executor without an
outcome, the outcome is unknown: an idempotent effect is repeated with the same key, and for any other effect the host
requests an interrupt, so that a person can report the outcome. An effect is a whole node (step `""`) or a step of it;
inside a map it belongs to an item.

Sources: OpenWOP idempotency (layer 2), readings (Layer-2 effect identity).
"""

import hashlib
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.json.canonical import base64url
from weftwork.protocol.json.values import is_object
from weftwork.protocol.run.interrupts import Interrupt

UNKNOWN_OUTCOME_KIND: Final = "weftwork.effect-unknown"
"""The customKind of the interrupt about an effect with an unknown outcome."""
WHOLE_NODE: Final = ""
"""The step name of an effect that is the whole node."""
MAX_STEP_NAME: Final = 128
"""eff-07 (host): maximum length of a step's name."""
OUTCOMES: Final = ("done", "failed", "again")


class EffectRef(msgspec.Struct, frozen=True):
    """Identifies an effect of a node: the step, or the whole node, and inside a map the item."""

    step: str = WHOLE_NODE
    item: str = ""

    @property
    def payload_members(self) -> dict[str, str]:
        """The members of event payloads that identify the effect."""
        members = {"step": self.step, "item": self.item}
        return {member: value for member, value in members.items() if value}


class EffectState(msgspec.Struct):
    status: Literal["free", "open", "done", "failed"] = "free"
    """`free`: the effect can be claimed, because it was never started or is known not to have happened."""
    claim: str = ""
    """The id of the latest claim event. The executor that appended this event holds the claim."""
    claims: int = 0
    entry_sequence: int = -1
    """The entry of the node that made the latest claim."""
    output: Any = None
    error: dict[str, Any] | None = None
    recorded_at: int = 0
    key_run_id: str = ""
    """In a branch, the run that began the effect, if its outcome was unknown at the fork point. Its key stays."""


def effect_key(tenant: str, run_id: str, node_id: str, ordinal: int, provider_key: str) -> str:
    """eff-01 (OpenWOP idempotency, layer 2): the identity of an effect. It is the same for all attempts.

    ordinal: the round of the loops around the node. provider_key: `node`, or `step:` and the name of the step.
    """
    parts = ("openwop:activity:v2", tenant, run_id, node_id, str(ordinal), provider_key)
    return base64url(hashlib.sha256("\0".join(parts).encode()).digest())


def effect_ref_of(payload: dict[str, Any]) -> EffectRef:
    return EffectRef(payload.get("step", WHOLE_NODE), payload.get("item", ""))


def outcome_interrupt(node_id: str, visit: int, place: EffectRef, claims: int, again: int = 0) -> Interrupt:
    """eff-02 (host): the interrupt about an effect with an unknown outcome. Each claim has a separate interrupt.

    `again` counts the earlier answers to this claim whose output did not match the node.
    """
    subject = f"The step {place.step} of the node {node_id}" if place.step else f"The node {node_id}"
    rejected = "The output in the last answer does not match the node. " if again else ""
    payload = {
        "message": f"{rejected}{subject} was started, but its outcome is unknown. Find out whether it happened.",
        **place.payload_members,
        "answers": {
            "done": "It happened. The run continues with `output` as its result.",
            "failed": "It happened and failed, or is to be treated as failed.",
            "again": "It did not happen. The host runs it again.",
        },
    }
    # A hash, because a key has at most 256 characters and the names may be longer.
    digest = hashlib.sha256(f"{node_id}\0{place.item}\0{place.step}".encode()).hexdigest()[:32]
    key = f"{UNKNOWN_OUTCOME_KIND}:{digest}:{visit}:{claims}" + (f":{again}" if again else "")
    return Interrupt("custom", key, {"customKind": UNKNOWN_OUTCOME_KIND, "payload": payload}, outcome_schema(key))


def outcome_schema(key: str) -> dict[str, Any]:
    """eff-03 (host): the schema of the answers. An answer with a `key` is valid only for the interrupt with that
    key."""
    return {
        "type": "object",
        "required": ["outcome"],
        "properties": {"outcome": {"enum": list(OUTCOMES)}, "output": {}, "key": {"const": key}},
        "additionalProperties": False,
    }


def is_outcome_interrupt(data: Any) -> bool:
    """Whether the interrupt with this data is about an effect with an unknown outcome."""
    return is_object(data) and data.get("customKind") == UNKNOWN_OUTCOME_KIND


def is_node_outcome_interrupt(data: Any) -> bool:
    """Whether the interrupt with this data is about the outcome of a whole node, not of a step."""
    payload = data.get("payload") if is_outcome_interrupt(data) else None
    return is_object(payload) and "step" not in payload


def has_unrepeatable_effect(effects: dict[EffectRef, EffectState], entered: int, orphans: frozenset[str]) -> bool:
    """eff-04 (readings, Threads): whether an effect of this entry of the node is in progress, so that the node must not
    be interrupted.

    Claims of earlier entries and `orphans`, the claims of a process that has ended, are not in progress.
    """
    return any(
        effect.status == "open" and effect.entry_sequence == entered and effect.claim not in orphans
        for effect in effects.values()
    )
