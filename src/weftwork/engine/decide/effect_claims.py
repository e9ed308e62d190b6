"""Decides about effects that must not happen twice: their claims and outcomes. Also about pinned versions. Pure."""

from msgspec import UNSET

from weftwork.engine.decide.decision import NOTHING, Decision, running_node
from weftwork.engine.decide.inputs import EffectClaimed, EffectEnded, VersionRequested
from weftwork.protocol.fold.state import NodeState, RunState
from weftwork.protocol.run import payloads
from weftwork.protocol.run.effects import WHOLE_NODE, EffectRef, EffectState
from weftwork.protocol.run.events import Draft


def claim_effect(state: RunState, given: EffectClaimed, closing: bool = False) -> Decision:
    """eff-05: one claim at a time. Word of one that was written already, by whomever, decides nothing more.

    Nothing begins any more when the run is about to pause, or the host is `closing`, but steps of what both wait for.
    """
    node = running_node(state, given.node_id, given.entry_sequence)
    if node is None or state.stop is not None:
        return NOTHING
    if (closing or state.pausing == "immediate") and not _is_step_of_open_node(node, given.effect_ref):
        return NOTHING
    known = node.effects.get(given.effect_ref)
    if _is_recorded(node, given.effect_ref) or not (
        known is None or known.status == "free" or _is_replaced_by(known, given)
    ):
        return NOTHING
    place = given.effect_ref
    claimed = payloads.EffectClaimed(given.node_id, place.step or UNSET, place.item or UNSET)
    return Decision((Draft.of(claimed, given.node_id, event_id=given.claim),))


def _is_step_of_open_node(node: NodeState, place: EffectRef) -> bool:
    """Whether this is a step of a node, or of an item, that must not happen twice itself and is under way."""
    whole = node.effects.get(EffectRef(WHOLE_NODE, place.item))
    return (
        place.step != WHOLE_NODE
        and whole is not None
        and whole.status == "open"
        and whole.entry_sequence == node.entry_sequence
    )


def holds_claim(state: RunState, given: EffectClaimed) -> bool | None:
    """eff-05: whether this claim stands; None if the node that made it is no longer wanted, or not yet."""
    node = running_node(state, given.node_id, given.entry_sequence)
    if node is None:
        return None
    known = node.effects.get(given.effect_ref)
    if known is None or known.status == "free":
        return False if _is_recorded(node, given.effect_ref) else None
    return None if _is_replaced_by(known, given) else known.claim == given.claim


def _is_replaced_by(known: EffectState, given: EffectClaimed) -> bool:
    """Whether this is the open claim that the new one is to take the place of."""
    return known.status == "open" and given.replaces != "" and known.claim == given.replaces


def record_effect(state: RunState, given: EffectEnded) -> Decision:
    """eff-06: once; word of it comes twice when a commit was thought to have failed."""
    node = running_node(state, given.node_id, given.entry_sequence)
    known = node.effects.get(given.effect_ref) if node is not None else None
    if known is None or known.status != "open":
        return NOTHING
    place = given.effect_ref
    recorded = payloads.EffectRecorded(given.node_id, place.step or UNSET, place.item or UNSET, **given.outcome)
    return Decision((Draft.of(recorded, given.node_id),))


def pin_version(state: RunState, given: VersionRequested) -> Decision:
    """ver-01: the first to ask pins."""
    if given.change_id in state.versions or running_node(state, given.node_id, given.entry_sequence) is None:
        return NOTHING
    pinned = payloads.VersionPinned(given.change_id, given.version, given.node_id)
    return Decision((Draft.of(pinned, given.node_id),))


def is_item_recorded(state: RunState, given: EffectEnded) -> bool:
    """Whether somebody else has recorded the whole item that this effect is a part of."""
    node = running_node(state, given.node_id, given.entry_sequence)
    return node is not None and _is_recorded(node, given.effect_ref)


def _is_recorded(node: NodeState, place: EffectRef) -> bool:
    """What a recorded item did is forgotten, and done."""
    return place.item.isdecimal() and int(place.item) in node.map_items
