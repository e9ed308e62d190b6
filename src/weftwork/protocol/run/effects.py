"""The effect ledger: an effect on an external system is claimed before it happens and recorded afterwards.

Theory. A claim is an event, so of all executors of a run only one can make it, and it is durable before anything is
sent. The outcome of the effect is another event. A claim without an outcome, found by an executor that did not make
it, means that nobody knows whether the effect happened: an idempotent effect is sent again under the same key, any
other becomes an interrupt for a person. An effect is a whole node (step `""`) or a step of it; inside a map it belongs
to an item.

Sources: OpenWOP idempotency (layer 2), readings (Layer-2 effect identity).
"""

import hashlib
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.json.canonical import base64url
from weftwork.protocol.json.values import is_object
from weftwork.protocol.run.interrupts import Interrupt

UNKNOWN_OUTCOME_KIND: Final = "weftwork.effect-unknown"
"""The customKind of the question what became of an effect."""
WHOLE_NODE: Final = ""
"""The name of the effect that is the node itself."""
MAX_STEP_NAME: Final = 128
"""eff-07 (host): how long the name of a step may be."""
OUTCOMES: Final = ("done", "failed", "again")


class EffectRef(msgspec.Struct, frozen=True):
    """Which effect of a node: a step of it, or the whole, and in a map the item it belongs to."""

    step: str = WHOLE_NODE
    item: str = ""

    @property
    def payload_members(self) -> dict[str, str]:
        """As event payloads name it."""
        named = {"step": self.step, "item": self.item}
        return {member: value for member, value in named.items() if value}


class EffectState(msgspec.Struct):
    status: Literal["free", "open", "done", "failed"] = "free"
    """`free` may be claimed: it was never begun, or it is known not to have happened."""
    claim: str = ""
    """The id of the event that claimed it last: who made that event holds the claim."""
    claims: int = 0
    entry_sequence: int = -1
    """The entry of the node that claimed it last."""
    output: Any = None
    error: dict[str, Any] | None = None
    recorded_at: int = 0


def effect_key(tenant: str, run_id: str, node_id: str, ordinal: int, provider_key: str) -> str:
    """eff-01 (OpenWOP idempotency, layer 2): the identity of an effect. The attempt is no part of it.

    ordinal: how often loops have come round to the node. provider_key: `node`, or `step:` and the name of the step.
    """
    parts = ("openwop:activity:v2", tenant, run_id, node_id, str(ordinal), provider_key)
    return base64url(hashlib.sha256("\0".join(parts).encode()).digest())


def effect_ref_of(payload: dict[str, Any]) -> EffectRef:
    return EffectRef(payload.get("step", WHOLE_NODE), payload.get("item", ""))


def outcome_interrupt(node_id: str, visit: int, place: EffectRef, claims: int, again: int = 0) -> Interrupt:
    """eff-02 (host): what a person is asked about an effect of unknown outcome. Each claim is asked about anew."""
    what = f"The step {place.step} of the node {node_id}" if place.step else f"The node {node_id}"
    before = "The output that was given does not fit the node. " if again else ""
    about = {
        "message": f"{before}{what} was begun, and its outcome is not known here. Find out whether it happened.",
        **place.payload_members,
        "answers": {
            "done": "It happened; `output` is what it would have given. The run goes on with that.",
            "failed": "It happened and failed, or shall count as failed.",
            "again": "It did not happen. It is done again.",
        },
    }
    # Short whatever the names are: a key has at most 256 characters, and texts of the author may have more.
    named = hashlib.sha256(f"{node_id}\0{place.item}\0{place.step}".encode()).hexdigest()[:32]
    key = f"{UNKNOWN_OUTCOME_KIND}:{named}:{visit}:{claims}" + (f":{again}" if again else "")
    return Interrupt("custom", key, {"customKind": UNKNOWN_OUTCOME_KIND, "payload": about}, outcome_schema(key))


def outcome_schema(key: str) -> dict[str, Any]:
    """eff-03 (host): what may be answered. An answer that names its question is never taken for one to the next."""
    return {
        "type": "object",
        "required": ["outcome"],
        "properties": {"outcome": {"enum": list(OUTCOMES)}, "output": {}, "key": {"const": key}},
        "additionalProperties": False,
    }


def is_outcome_interrupt(data: Any) -> bool:
    """Whether this is the question what became of an effect."""
    return is_object(data) and data.get("customKind") == UNKNOWN_OUTCOME_KIND


def is_node_outcome_interrupt(data: Any) -> bool:
    """Whether that is asked about a node itself, and not about a step of it."""
    payload = data.get("payload") if is_outcome_interrupt(data) else None
    return is_object(payload) and "step" not in payload


def has_unrepeatable_effect(effects: dict[EffectRef, EffectState], entered: int, orphans: frozenset[str]) -> bool:
    """eff-04 (readings, Threads): whether something is under way that may not be interrupted and run again.

    What an earlier entry of the node left open is not under way, nor are orphans: claims of a process that is gone.
    """
    return any(
        effect.status == "open" and effect.entry_sequence == entered and effect.claim not in orphans
        for effect in effects.values()
    )
