"""Decides about claims and outcomes of effects that must not happen twice, and about pinned versions. Pure."""

from msgspec import UNSET

from weftwork.engine.decide.decision import NOTHING, Decision, running_node
from weftwork.engine.decide.inputs import EffectClaimed, EffectEnded, VersionRequested
from weftwork.protocol.fold.state import NodeState, RunState
from weftwork.protocol.run import payloads
from weftwork.protocol.run.effects import WHOLE_NODE, EffectRef, EffectState
from weftwork.protocol.run.events import Draft


def claim_effect(state: RunState, request: EffectClaimed, closing: bool = False) -> Decision:
    """eff-05: an effect has one claim at a time. A claim that is already recorded, by this or another executor, gives
    an empty decision.

    While the run is pausing or the host is `closing`, only steps of an effect in progress may begin, because the pause
    and the shutdown wait for that effect.
    """
    node = running_node(state, request.node_id, request.entry_sequence)
    if node is None or state.stop is not None:
        return NOTHING
    if (closing or state.pausing == "immediate") and not _is_step_of_open_node(node, request.effect_ref):
        return NOTHING
    effect = node.effects.get(request.effect_ref)
    if _is_recorded(node, request.effect_ref) or not (
        effect is None or effect.status == "free" or _is_replaced_by(effect, request)
    ):
        return NOTHING
    ref = request.effect_ref
    claimed = payloads.EffectClaimed(request.node_id, ref.step or UNSET, ref.item or UNSET)
    return Decision((Draft.of(claimed, request.node_id, event_id=request.claim),))


def _is_step_of_open_node(node: NodeState, ref: EffectRef) -> bool:
    """Whether this is a step of a node, or of a map item, whose own effect is claimed by this entry and in progress."""
    whole = node.effects.get(EffectRef(WHOLE_NODE, ref.item))
    return (
        ref.step != WHOLE_NODE
        and whole is not None
        and whole.status == "open"
        and whole.entry_sequence == node.entry_sequence
    )


def holds_claim(state: RunState, request: EffectClaimed) -> bool | None:
    """eff-05: whether this claim is the one on record; None if the answer is not known yet, or the node's entry is no
    longer the current one."""
    node = running_node(state, request.node_id, request.entry_sequence)
    if node is None:
        return None
    effect = node.effects.get(request.effect_ref)
    if effect is None or effect.status == "free":
        return False if _is_recorded(node, request.effect_ref) else None
    return None if _is_replaced_by(effect, request) else effect.claim == request.claim


def _is_replaced_by(effect: EffectState, request: EffectClaimed) -> bool:
    """Whether the recorded claim is open and the one that the new claim replaces."""
    return effect.status == "open" and request.replaces != "" and effect.claim == request.replaces


def record_effect(state: RunState, ended: EffectEnded) -> Decision:
    """eff-06: an outcome is recorded once. It arrives twice if a commit succeeded although it was reported as
    failed."""
    node = running_node(state, ended.node_id, ended.entry_sequence)
    effect = node.effects.get(ended.effect_ref) if node is not None else None
    if effect is None or effect.status != "open":
        return NOTHING
    ref = ended.effect_ref
    recorded = payloads.EffectRecorded(ended.node_id, ref.step or UNSET, ref.item or UNSET, **ended.outcome)
    return Decision((Draft.of(recorded, ended.node_id),))


def pin_version(state: RunState, request: VersionRequested) -> Decision:
    """ver-01: the first request for a change pins its version for the run."""
    if request.change_id in state.versions or running_node(state, request.node_id, request.entry_sequence) is None:
        return NOTHING
    pinned = payloads.VersionPinned(request.change_id, request.version, request.node_id)
    return Decision((Draft.of(pinned, request.node_id),))


def is_item_recorded(state: RunState, ended: EffectEnded) -> bool:
    """Whether another executor has recorded the whole item that this effect belongs to."""
    node = running_node(state, ended.node_id, ended.entry_sequence)
    return node is not None and _is_recorded(node, ended.effect_ref)


def _is_recorded(node: NodeState, ref: EffectRef) -> bool:
    """Whether the item of this effect is recorded. Its effects are dropped from the state then, and count as done."""
    return ref.item.isdecimal() and int(ref.item) in node.map_items
