"""What the facts about nodes change in the state of a run. Called by the fold alone."""

from bisect import insort
from collections.abc import Callable
from typing import Final

from weftwork.protocol.effect import NODE, EffectState, Place, asks_about_node, place_of
from weftwork.protocol.events import EFFECT_CLAIMED, EFFECT_RECORDED, MAP_ITEM, Fact
from weftwork.protocol.flow import settle
from weftwork.protocol.state import NodeState, RunState

YOUNG_MS: Final = 60_000


def _node(state: RunState, node_id: str) -> NodeState:
    node = state.nodes.get(node_id)
    if node is None:
        node = state.nodes[node_id] = NodeState("pending")
    return node


def _node_started(state: RunState, fact: Fact, node_id: str) -> None:
    node = _node(state, node_id)
    if node.status == "running":
        # Only those that died young count: a node that runs for weeks sees many a new release of the host.
        node.crashes = node.crashes + 1 if fact.timestamp - node.started_at < YOUNG_MS else 0
    node.status = "running"
    node.attempt = fact.payload.get("attempt", 1)
    node.started_at = fact.timestamp
    node.first_at = node.first_at or fact.timestamp
    node.entered = fact.sequence
    state.running[node_id] = node
    state.retrying.pop(node_id, None)
    state.executions += 1
    _drop(state.ready, state.plan.nodes[node_id].index, node_id)
    state.touched.add(("node", node_id))


def _node_suspended(state: RunState, fact: Fact, node_id: str) -> None:
    node = state.running.pop(node_id)
    node.status = "suspended"
    asked = state.interrupts[fact.payload["interruptId"]]
    asked.remind_after_ms = tuple(fact.payload.get("remindAfterMs", ()))
    if (whole := node.effects.get(Place(NODE))) is not None and not asks_about_node(asked.data):
        # It stopped by itself to ask, so nothing of it is under way.
        whole.status = "free"
    state.suspended[node_id] = node
    state.touched.add(("node", node_id))


def _node_resumed(state: RunState, fact: Fact, node_id: str) -> None:
    node = state.suspended.pop(node_id)
    node.status = "running"
    node.resumed_at = fact.timestamp
    node.entered = fact.sequence
    state.running[node_id] = node
    _drop(state.answered, state.plan.nodes[node_id].index, node_id)
    state.touched.add(("node", node_id))


def _node_retried(state: RunState, fact: Fact, node_id: str) -> None:
    node = state.running.pop(node_id)
    node.status = "retrying"
    node.failures += 1
    node.due = fact.timestamp + fact.payload.get("delayMs", 0)
    node.error = fact.payload.get("lastError")
    if (whole := node.effects.get(Place(NODE))) is not None:
        # It failed, and whoever says that it may be tried again says that it did not happen.
        whole.status = "free"
    state.retrying[node_id] = node
    state.touched.add(("node", node_id))


def _map_item(state: RunState, fact: Fact, node_id: str) -> None:
    node = _node(state, node_id)
    index: int = fact.payload["index"]
    node.items[index] = fact.payload["output"]
    for place in [each for each in node.effects if each.item == str(index)] if node.effects else ():
        del node.effects[place]


def _effect_claimed(state: RunState, fact: Fact, node_id: str) -> None:
    """eff-05 (OpenWOP idempotency, layer 2): from here on the effect may have happened."""
    node = _node(state, node_id)
    effect = node.effects.setdefault(place_of(fact.payload), EffectState())
    effect.status, effect.claim, effect.entered = "open", fact.event_id, node.entered
    effect.claims += 1


def _effect_recorded(state: RunState, fact: Fact, node_id: str) -> None:
    """eff-06 (OpenWOP idempotency, layer 2): results and failures are kept, and later entries of the node get them."""
    payload = fact.payload
    effect = _node(state, node_id).effects[place_of(payload)]
    effect.output, effect.error, effect.at = payload.get("output"), payload.get("error"), fact.timestamp
    effect.status = "failed" if "error" in payload else "done" if "output" in payload else "free"


def _node_completed(state: RunState, fact: Fact, node_id: str) -> None:
    node = _ended(state, node_id)
    node.status = "completed"
    node.outputs = fact.payload.get("outputs", {})
    node.error = None
    node.items, node.effects = {}, {}
    settle(state, node_id)


def _node_failed(state: RunState, fact: Fact, node_id: str) -> None:
    node = _ended(state, node_id)
    if node.status == "pending" and node.visits:
        # It failed without a start, and in a loop that counts as one: such a loop would never end.
        state.executions += 1
    node.status = "failed"
    node.error = fact.payload["error"]
    index = state.plan.nodes[node_id].index
    insort(state.failures, (index, node_id))
    _drop(state.ready, index, node_id)
    _drop(state.failing, index, node_id)
    settle(state, node_id)


def _node_skipped(state: RunState, fact: Fact, node_id: str) -> None:
    node = _ended(state, node_id)
    node.status = "skipped"
    _drop(state.doomed, state.plan.nodes[node_id].index, node_id)
    settle(state, node_id)


def _node_cancelled(state: RunState, fact: Fact, node_id: str) -> None:
    node = _ended(state, node_id)
    node.status = "cancelled"


def _ended(state: RunState, node_id: str) -> NodeState:
    for waiting in (state.running, state.retrying, state.suspended):
        if waiting:
            waiting.pop(node_id, None)
    state.touched.add(("node", node_id))
    return _node(state, node_id)


def _drop(places: list[tuple[int, str]], index: int, node_id: str) -> None:
    if (index, node_id) in places:
        places.remove((index, node_id))


NODE_CHANGES: Final[dict[str, Callable[[RunState, Fact, str], None]]] = {
    "node.started": _node_started,
    "node.suspended": _node_suspended,
    "node.resumed": _node_resumed,
    "node.retried": _node_retried,
    "node.completed": _node_completed,
    "node.failed": _node_failed,
    "node.skipped": _node_skipped,
    "node.cancelled": _node_cancelled,
    MAP_ITEM: _map_item,
    EFFECT_CLAIMED: _effect_claimed,
    EFFECT_RECORDED: _effect_recorded,
}
