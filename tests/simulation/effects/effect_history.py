"""What the log of a run tells about its effects: what was asked about, and what was cut off."""

from dataclasses import dataclass, field

from weftwork.protocol.run.effects import UNKNOWN_OUTCOME_KIND
from weftwork.protocol.run.events import EFFECT_CLAIMED, EFFECT_RECORDED, MAP_ITEM, Fact

CUTTING_ERRORS = ("node_timeout", "map_item_failed")
"""Failures that cut off what is under way: of a node, or of others in a map."""

EffectPlace = tuple[str, str, str]
"""Node, item, step."""


@dataclass
class EffectHistory:
    """Claims are known by the ids of their events."""

    interrupts: list[tuple[EffectPlace, str]] = field(default_factory=list)
    """What somebody was asked about, with the claim."""
    cut_claims: set[str] = field(default_factory=set)
    """Claims that were cut off by a failure, and not by the end of a process."""
    cut_count: int = 0
    """How often something was cut off so, whether it was claimed or not."""


def effect_history(facts: list[Fact]) -> EffectHistory:
    """Reads the log without the fold, which is what is to be proved."""
    story = EffectHistory()
    claims: dict[EffectPlace, str] = {}
    for event in facts:
        payload, node_id = event.payload, event.node_id or ""
        where = (node_id, payload.get("item", ""), payload.get("step", ""))
        if event.type == EFFECT_CLAIMED:
            claims[where] = event.event_id
        elif event.type == EFFECT_RECORDED:
            claims.pop(where)
        elif event.type in ("node.completed", "node.failed", MAP_ITEM):
            item = str(payload["index"]) if event.type == MAP_ITEM else None
            claims = {
                each: claim for each, claim in claims.items() if each[0] != node_id or item not in (None, each[1])
            }
        elif event.type == "node.retried":
            # Whoever is tried again as a whole has said that it did not happen.
            claims.pop((node_id, "", ""), None)
            if payload["lastError"]["code"] in CUTTING_ERRORS:
                story.cut_count += 1
                story.cut_claims |= {claim for each, claim in claims.items() if each[0] == node_id}
        elif event.type == "interrupt.requested" and payload["data"].get("customKind") == UNKNOWN_OUTCOME_KIND:
            about = payload["data"]["payload"]
            where = (node_id, about.get("item", ""), about.get("step", ""))
            story.interrupts.append((where, claims[where]))
    return story
