"""The state changes of events about nodes, model calls and child runs. Called only by the fold."""

from bisect import insort
from collections.abc import Callable
from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.handling import recorded_outcome
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.envelopes.outcome import Accepted
from weftwork.protocol.expressions.budget import FoldEvaluator
from weftwork.protocol.fold.data_flow import is_given_untrusted, resolve_inputs
from weftwork.protocol.fold.interrupt_facts import INTERRUPT_CHANGES
from weftwork.protocol.fold.live_size import ERROR, OUTPUTS, hold, hold_in_node, release, release_all
from weftwork.protocol.fold.state import NodeState, ProviderWait, RunState, SupervisorDecision
from weftwork.protocol.fold.traversal import settle_node
from weftwork.protocol.json.schema import check_inline
from weftwork.protocol.json.values import is_object
from weftwork.protocol.models.capability_gate import ModelRef
from weftwork.protocol.models.provider_waits import MIN_PROVIDER_WAIT_MS
from weftwork.protocol.run import events, model_payloads
from weftwork.protocol.run.child_runs import ChildState
from weftwork.protocol.run.effects import WHOLE_NODE, EffectRef, EffectState, effect_ref_of, is_node_outcome_interrupt
from weftwork.protocol.run.events import UNTRUSTED, Fact
from weftwork.protocol.run.header import WAITING_STATUSES
from weftwork.protocol.run.interrupts import StoredSurface
from weftwork.protocol.run.map_items import ItemError
from weftwork.protocol.timestamps import parse_iso
from weftwork.protocol.workflow.timed_waits import LONG_WAIT_MS


def _model_answered(state: RunState, fact: Fact) -> None:
    """model-01 (readings, Model calls): a recorded answer is reused, and the model is not called again while the node
    runs."""
    node = state.nodes.get(fact.node_id or "")
    if node is not None:
        node.model_answers[fact.payload["call"]] = fact.payload
        hold_in_node(state, node, ("answer", fact.payload["call"]), fact.size)


def _prompt_composed(state: RunState, fact: Fact) -> None:
    """prompt-09 (RFC 0027 E): the prompts of an attempt are recorded once, even if the host dies before the answer."""
    node = state.nodes.get(fact.node_id or "")
    if node is not None:
        node.composed_prompts.add(fact.payload["nodeId"])


def _output_chunk(state: RunState, fact: Fact) -> None:
    node = state.nodes.get(fact.node_id or "")
    if node is not None:
        node.streaming = not fact.payload["isLast"]


def _envelope_recorded(state: RunState, fact: Fact) -> None:
    """env-26 (RFC 0021, deduplication): the first outcome of a correlation id is kept for the whole run."""
    known = recorded_outcome(fact.payload, fact.content_trust)
    state.envelopes.setdefault(fact.payload["correlationId"], known)
    node = state.nodes.get(fact.node_id or "")
    if node is not None:
        node.envelope_ids.append(fact.payload["correlationId"])
        if known.type == SURFACE_KIND and isinstance(known.outcome, Accepted):
            node.surfaces[fact.payload["envelopeId"]] = fact.payload["correlationId"]
        hold_in_node(state, node, ("envelope", fact.payload["correlationId"]), fact.size)


def drop_payloads(state: RunState, node: NodeState) -> None:
    """Drops the payloads of the node's accepted envelopes to free memory, but keeps their outcomes for
    deduplication."""
    for correlation_id in node.envelope_ids:
        known = state.envelopes.get(correlation_id)
        if known is not None and isinstance(known.outcome, Accepted):
            outcome = msgspec.structs.replace(known.outcome, payload=None)
            state.envelopes[correlation_id] = msgspec.structs.replace(known, outcome=outcome)
    release(state, node, [("envelope", correlation_id) for correlation_id in node.envelope_ids])
    node.envelope_ids = []
    node.surfaces = {}


EARLY_CRASH_MS: Final = 60_000


def _node_state(state: RunState, node_id: str) -> NodeState:
    node = state.nodes.get(node_id)
    if node is None:
        node = state.nodes[node_id] = NodeState("pending")
    return node


def _node_started(state: RunState, fact: Fact, node_id: str) -> None:
    node = _node_state(state, node_id)
    if node.status == "running":
        # Only crashes soon after the start count: a node that runs for weeks survives many restarts of the host.
        node.crashes = node.crashes + 1 if fact.timestamp - node.started_at < EARLY_CRASH_MS else 0
    node.status = "running"
    if node.children:
        _forget_children(state, node)
    node.attempt = fact.payload.get("attempt", 1)
    node.started_at = fact.timestamp
    node.first_started_at = node.first_started_at or fact.timestamp
    node.entry_sequence = fact.sequence
    state.running[node_id] = node
    if state.retrying and state.retrying.pop(node_id, None) is not None:
        node.long_wait_end = 0
        node.provider_wait = None
    state.executions += 1
    planned = state.plan.nodes[node_id]
    declared = planned.node
    if declared.declaration.role == "dispatch":
        state.dispatches += 1
        node.decision = _pending_decision(state, node_id)
    if declared.agent is not None:
        _record_agent(state, "agent", declared.agent)
    if (declared.external_content or state.untrusted is not None) and is_given_untrusted(state, node_id):
        node.untrusted = True
    if declared.model_needs is not None and (model := fact.payload.get("model")) is not None:
        node.model = ModelRef(model["provider"], model["model"])
    if declared.declaration.wait_end is not None:
        node.long_wait_end = _long_wait_end(state, node_id)
    _remove(state.ready, planned.index, node_id)
    state.changed_rows.add(("node", node_id))


def _long_wait_end(state: RunState, node_id: str) -> int:
    """park-03 (host): when the wait of a node that has just started ends; 0 if it is not long, or the node fails."""
    node = state.plan.nodes[node_id].node
    end_of, started_at = node.declaration.wait_end, state.nodes[node_id].started_at
    # Inputs that take longer are resolved when the node is called, and its wait is then not a long one.
    evaluator = FoldEvaluator(state.header.expression_limits) if node.has_expression_ports else None
    inputs = resolve_inputs(state, node_id, evaluator)
    if evaluator is not None:
        state.condition_units += evaluator.units
    if end_of is None or not is_object(inputs) or check_inline(node.declaration.inputs, inputs, "/inputs"):
        return 0
    end = end_of(inputs, node.config, started_at)
    return end if end is not None and end - started_at > LONG_WAIT_MS else 0


def _record_agent(state: RunState, role: str, agent: dict[str, Any]) -> None:
    """agent-01 (OpenWOP run-snapshot): the snapshot names the first agent and the first supervisor of a run."""
    if role not in state.agents:
        state.agents[role] = agent
        state.changed_rows.add(("agent", role))


def _pending_decision(state: RunState, node_id: str) -> SupervisorDecision | None:
    """orch-12 (RFC 0007 D): the latest decision of a supervisor directly before the node, else the latest decision.

    It is fixed when the node starts and does not change with later decisions.
    """
    sources = {edge.source for edge in state.plan.nodes[node_id].incoming}
    latest_first = list(reversed(state.decisions.items()))
    before = [decision for supervisor, decision in latest_first if supervisor in sources]
    return before[0] if before else next((decision for _, decision in latest_first), None)


def _child_started(state: RunState, fact: Fact, node_id: str) -> None:
    """kin-02 (OpenWOP node-packs, core.subWorkflow): records a child run. A node that awaits it is no longer running,
    so the run can be unloaded."""
    node, payload = _node_state(state, node_id), fact.payload
    awaited: bool = payload["awaited"]
    node.children[payload["key"]] = ChildState(payload["childRunId"], payload["workflowId"], awaited=awaited)
    node.last_child_event = fact.sequence
    state.children_started += 1
    state.changed_rows.add(("kin", "children"))
    if awaited:
        node.open_children += 1
        if node_id in state.running:
            state.awaiting_children[node_id] = state.running.pop(node_id)


def _find_child(state: RunState, fact: Fact, node_id: str) -> tuple[NodeState, ChildState] | None:
    node = state.nodes.get(node_id)
    child = node.children.get(fact.payload["key"]) if node is not None else None
    if node is None or child is None or child.run_id != fact.payload["childRunId"] or child.has_ended:
        return None
    node.last_child_event = fact.sequence
    return node, child


def _child_status(state: RunState, fact: Fact, node_id: str) -> None:
    """kin-03 (OpenWOP rest-endpoints, status model): a parent has the `waiting-*` status of a child that waits."""
    if (found := _find_child(state, fact, node_id)) is None:
        return
    node, child = found
    key, status = fact.payload["key"], fact.payload["status"]
    node.children[key] = msgspec.structs.replace(child, status=status)
    node.waiting_children.pop(key, None)
    if status in WAITING_STATUSES:
        node.waiting_children[key] = status


def _child_ended(state: RunState, fact: Fact, node_id: str) -> None:
    if (found := _find_child(state, fact, node_id)) is None:
        return
    node, child = found
    payload = fact.payload
    node.children[payload["key"]] = msgspec.structs.replace(
        child,
        status=payload["status"],
        error=payload.get("error"),
        outputs=payload.get("outputs"),
        variables=payload.get("variables", {}),
        hidden=tuple(payload.get("hidden", ())),
        end_sequence=fact.sequence,
    )
    hold_in_node(state, node, ("child", payload["key"]), fact.size)
    node.waiting_children.pop(payload["key"], None)
    node.open_children -= 1
    node.failed_children += payload["status"] != "completed"


def _worker_dispatched(state: RunState, fact: Fact) -> None:
    """orch-04 (readings, Chain of a dispatch): records the event to which the end of a worker refers as its cause."""
    node = state.nodes.get(fact.node_id or "")
    if fact.payload["phase"] != "dispatch.succeeded" or node is None or not node.children:
        return
    children = node.children
    # The event follows the start of its child, before that of another one, so this is the newest child.
    key, child = next(reversed(children.items()))
    if child.run_id == fact.payload["childRunId"]:
        children[key] = msgspec.structs.replace(child, dispatch_event=fact.event_id)


def _orchestrator_decided(state: RunState, fact: Fact, node_id: str) -> None:
    """orch-11 (RFC 0006): only the latest decision of a supervisor is kept."""
    payload = fact.payload
    state.decisions.pop(node_id, None)
    untrusted = fact.content_trust == UNTRUSTED
    state.decisions[node_id] = SupervisorDecision(fact.event_id, payload["decision"], payload["agentId"], untrusted)
    hold(state, ("decision", node_id), fact.size)
    state.decision_count += 1
    agent = state.plan.nodes[node_id].node.agent or {}
    _record_agent(state, "runOrchestrator", {**agent, "agentId": payload["agentId"]})


def _node_suspended(state: RunState, fact: Fact, node_id: str) -> None:
    node = _node_state(state, node_id)
    state.running.pop(node_id, None)
    state.awaiting_children.pop(node_id, None)
    node.status = "suspended"
    interrupt = state.interrupts[fact.payload["interruptId"]]
    interrupt.remind_after_ms = tuple(fact.payload.get("remindAfterMs", ()))
    if (envelope_id := fact.payload.get("surface")) is not None:
        interrupt.surface = _stored_surface(state, node, envelope_id)
    if (whole := node.effects.get(EffectRef(WHOLE_NODE))) is not None and not is_node_outcome_interrupt(interrupt.data):
        # The node itself requested the interrupt and returned, so its effect is not in progress.
        whole.status = "free"
    state.suspended[node_id] = node
    state.changed_rows.add(("node", node_id))


def _stored_surface(state: RunState, node: NodeState, envelope_id: str) -> StoredSurface | None:
    known = state.envelopes.get(node.surfaces.get(envelope_id, ""))
    if known is None or not isinstance(known.outcome, Accepted):
        return None
    return StoredSurface(envelope_id, known.outcome.payload, known.outcome.content_trust == UNTRUSTED)


def _node_resumed(state: RunState, fact: Fact, node_id: str) -> None:
    node = state.suspended.pop(node_id)
    node.status = "running"
    node.resumed_at = fact.timestamp
    node.entry_sequence = fact.sequence
    if node.open_children:
        # The node is called once with the answer, and then continues to wait for its children.
        state.awaiting_children[node_id] = node
        state.pending_calls.add(node_id)
    else:
        state.running[node_id] = node
    _remove(state.resumable, state.plan.nodes[node_id].index, node_id)
    state.changed_rows.add(("node", node_id))


def _node_retried(state: RunState, fact: Fact, node_id: str) -> None:
    node = _node_state(state, node_id)
    state.running.pop(node_id, None)
    state.awaiting_children.pop(node_id, None)
    _forget_children(state, node)
    node.status = "retrying"
    node.failures += 1
    release(state, node, [("answer", call) for call in node.model_answers])
    node.model_answers = {}
    node.composed_prompts = set()
    drop_payloads(state, node)
    delay = fact.payload.get("delayMs", 0)
    node.retry_at = fact.timestamp + delay
    node.long_wait_end = node.retry_at if delay > LONG_WAIT_MS else 0
    node.provider_wait = None
    node.error = fact.payload.get("lastError")
    hold_in_node(state, node, ERROR, fact.size)
    if (whole := node.effects.get(EffectRef(WHOLE_NODE))) is not None:
        # A retryable failure of a node with an effect means that the effect did not happen.
        whole.status = "free"
    state.retrying[node_id] = node
    state.changed_rows.add(("node", node_id))


def _provider_waiting(state: RunState, fact: Fact, node_id: str) -> None:
    """park-05 (host): the node waits as the same attempt, with the answers and steps that it has recorded. While it
    waits, the run can be parked."""
    node, payload = _node_state(state, node_id), fact.payload
    state.running.pop(node_id, None)
    retry_at = parse_iso(payload["retryAt"]) or fact.timestamp
    node.provider_wait = ProviderWait(payload["provider"], payload["code"], retry_at)
    node.provider_waited_ms += max(retry_at - fact.timestamp, MIN_PROVIDER_WAIT_MS)
    node.retry_at = node.long_wait_end = retry_at
    if (whole := node.effects.get(EffectRef(WHOLE_NODE))) is not None:
        # The node called the model and returned, so its effect is not in progress.
        whole.status = "free"
    state.retrying[node_id] = node
    state.changed_rows.add(("node", node_id))


def _provider_retried(state: RunState, fact: Fact, node_id: str) -> None:
    node = state.retrying.pop(node_id)
    node.provider_wait = None
    node.long_wait_end = 0
    node.entry_sequence = fact.sequence
    state.running[node_id] = node
    state.changed_rows.add(("node", node_id))


def _map_item(state: RunState, fact: Fact, node_id: str) -> None:
    node = _node_state(state, node_id)
    index: int = fact.payload["index"]
    node.map_items[index] = ItemError(fact.payload["error"]) if "error" in fact.payload else fact.payload["output"]
    hold_in_node(state, node, index, fact.size)
    # The item has ended, so its effects and model answers are no longer needed.
    for place in [each for each in node.effects if each.item == str(index)] if node.effects else ():
        del node.effects[place]
        release(state, node, [place])
    for call in [each for each in node.model_answers if each.startswith(f"{index}/")] if node.model_answers else ():
        del node.model_answers[call]
        release(state, node, [("answer", call)])


def _effect_claimed(state: RunState, fact: Fact, node_id: str) -> None:
    """eff-05 (OpenWOP idempotency, layer 2): from this event on the effect may have happened."""
    node = _node_state(state, node_id)
    effect = node.effects.setdefault(effect_ref_of(fact.payload), EffectState())
    effect.status = "open"
    effect.claim = fact.event_id
    effect.claims += 1
    effect.entry_sequence = node.entry_sequence


def _effect_recorded(state: RunState, fact: Fact, node_id: str) -> None:
    """eff-06 (OpenWOP idempotency, layer 2): the recorded result or failure is returned to later entries of the
    node."""
    payload = fact.payload
    node, ref = _node_state(state, node_id), effect_ref_of(payload)
    effect = node.effects[ref]
    hold_in_node(state, node, ref, fact.size)
    effect.output = payload.get("output")
    effect.error = payload.get("error")
    effect.recorded_at = fact.timestamp
    effect.status = "failed" if "error" in payload else "done" if "output" in payload else "free"


def _node_completed(state: RunState, fact: Fact, node_id: str) -> None:
    node = _end_node(state, node_id)
    node.status = "completed"
    node.outputs = fact.payload.get("outputs", {})
    node.error = None
    if node.held:
        release_all(state, node)
    node.held[OUTPUTS] = fact.size
    state.live_bytes += fact.size
    if node.map_items:
        node.map_items = {}
    if node.effects:
        node.effects = {}
    if node.model_answers:
        node.model_answers = {}
        node.composed_prompts = set()
    settle_node(state, node_id)


def _forget_children(state: RunState, node: NodeState) -> None:
    if node.children:
        release(state, node, [("child", key) for key in node.children])
        release(state, node, list(node.map_items))
        node.children = {}
        node.open_children = 0
        node.failed_children = 0
        node.waiting_children = {}
        # A map over child runs starts again with the first item, including items whose child could not be started.
        node.map_items = {}


def _node_failed(state: RunState, fact: Fact, node_id: str) -> None:
    node = _end_node(state, node_id)
    if node.status == "pending" and node.visits:
        # A node in a loop that fails without starting counts as an execution; otherwise such a loop would never end.
        state.executions += 1
    node.status = "failed"
    node.error = fact.payload["error"]
    hold_in_node(state, node, ERROR, fact.size)
    index = state.plan.nodes[node_id].index
    insort(state.failures, (index, node_id))
    _remove(state.ready, index, node_id)
    _remove(state.to_fail, index, node_id)
    settle_node(state, node_id)


def _node_skipped(state: RunState, fact: Fact, node_id: str) -> None:
    node = _end_node(state, node_id)
    node.status = "skipped"
    _remove(state.to_skip, state.plan.nodes[node_id].index, node_id)
    settle_node(state, node_id)


def _node_cancelled(state: RunState, fact: Fact, node_id: str) -> None:
    node = _end_node(state, node_id)
    node.status = "cancelled"


def _end_node(state: RunState, node_id: str) -> NodeState:
    state.running.pop(node_id, None)
    if state.retrying:
        state.retrying.pop(node_id, None)
    if state.suspended:
        state.suspended.pop(node_id, None)
    if state.awaiting_children:
        state.awaiting_children.pop(node_id, None)
    state.changed_rows.add(("node", node_id))
    node = _node_state(state, node_id)
    node.provider_wait = None
    if node.children:
        _forget_children(state, node)
    if node.envelope_ids:
        drop_payloads(state, node)
    return node


def _remove(places: list[tuple[int, str]], index: int, node_id: str) -> None:
    entry = (index, node_id)
    if places and places[0] == entry:
        del places[0]
    elif entry in places:
        places.remove(entry)


OTHER_CHANGES: Final[dict[str, Callable[[RunState, Fact], None]]] = {
    events.MODEL_ANSWERED: _model_answered,
    model_payloads.PromptComposed.event_type: _prompt_composed,
    "output.chunk": _output_chunk,
    events.ENVELOPE_RECORDED: _envelope_recorded,
    events.WORKFLOW_CHAIN: _worker_dispatched,
    **INTERRUPT_CHANGES,
}


NODE_CHANGES: Final[dict[str, Callable[[RunState, Fact, str], None]]] = {
    "node.started": _node_started,
    "node.suspended": _node_suspended,
    "node.resumed": _node_resumed,
    "node.retried": _node_retried,
    "node.completed": _node_completed,
    "node.failed": _node_failed,
    "node.skipped": _node_skipped,
    "node.cancelled": _node_cancelled,
    events.PROVIDER_WAITING: _provider_waiting,
    events.PROVIDER_RETRIED: _provider_retried,
    events.MAP_ITEM: _map_item,
    events.EFFECT_CLAIMED: _effect_claimed,
    events.EFFECT_RECORDED: _effect_recorded,
    events.CHILD_STARTED: _child_started,
    events.CHILD_STATUS: _child_status,
    events.CHILD_ENDED: _child_ended,
    events.ORCHESTRATOR_DECIDED: _orchestrator_decided,
}
