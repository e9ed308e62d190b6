"""A call of a node: from the state to what the node is given, and from its outcome to an input of the run."""

import logging
from typing import Any, Final

from weftwork.engine.decide.inputs import Input, NodeAwaitsChildren, NodeCompleted, NodeFailed, NodeSuspended
from weftwork.engine.node_events import OUTPUT_TOO_LARGE, effect_events, interrupt_failure
from weftwork.engine.runtime import Runtime
from weftwork.ports.node_outcome import AwaitsChildren, Completed, Failed, NodeEffect, NodeOutcome, Suspended
from weftwork.ports.nodes import Arrival, NodeCall
from weftwork.protocol.fold import data_flow
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json import schema
from weftwork.protocol.json.values import is_too_large
from weftwork.protocol.run.events import Draft

log = logging.getLogger("weftwork.node")

COMPLETED_WITH_AWAITED_CHILD: Final = Failed(
    "node_misused", "A node that completes waits for no child run.", retryable=False
)
RAISED_MESSAGE: Final = "The node raised an error; the host's log has the details."


def make_call(state: RunState, node_id: str) -> NodeCall | NodeFailed:
    """What the node is given, or why it cannot be called. No repetition would help."""
    place = state.plan.nodes[node_id]
    node, declaration = place.node, place.node.declaration
    entered = state.nodes[node_id].entry_sequence
    inputs = data_flow.resolve_inputs(state, node_id)
    if isinstance(inputs, data_flow.MissingInput):
        message = f"The input {inputs.port} has no value: {inputs.source} is not set."
        return NodeFailed(node_id, "node_input_missing", message, retryable=False, entry_sequence=entered)
    if isinstance(inputs, data_flow.FailedInput):
        message = f"The expression of the input {inputs.port} gave no value: {inputs.message}"
        return NodeFailed(node_id, inputs.code, message, {"port": inputs.port}, retryable=False, entry_sequence=entered)
    known = state.nodes[node_id]
    # One that has children was called before, with the same.
    wrong = check_node_inputs(declaration.inputs, inputs) if not known.children else None
    if wrong is not None:
        return NodeFailed(node_id, wrong.code, wrong.message, wrong.details, retryable=False, entry_sequence=entered)
    untrusted = data_flow.untrusted_inputs(state, node_id)
    return NodeCall(
        state.header.run_id,
        node_id,
        inputs,
        node.config,
        data_flow.NodeScope(state, node_id, inputs, declaration.instant, untrusted),
        state.loop_rounds.get(place.counted_loop, 0) if place.counted_loop is not None else 0,
        _make_arrivals(state, node_id) if declaration.gathers_edges else (),
        state.resolutions,
        known.visits,
        known.attempt,
        entered,
        known.children.copy(),
        known.last_child_event,
        known.open_children,
        known.failed_children,
        known.decision,
        node.agent,
        state.header.configurable,
        contract=node.contract,
        prompt_refs=node.prompt_refs,
        hides=place.hides_outputs,
        untrusted=untrusted,
    )


def check_node_inputs(wanted: dict[str, Any], inputs: dict[str, Any]) -> Failed | None:
    """A failure if the inputs do not fit what the node type declares."""
    violations = schema.check_inline(wanted, inputs, "/inputs")
    if not violations:
        return None
    message = f"An input does not fit the node type: {violations[0].message}."
    return Failed("node_config_invalid", message, {"pointer": violations[0].pointer}, retryable=False)


def _make_arrivals(state: RunState, node_id: str) -> tuple[Arrival, ...]:
    return tuple(
        Arrival(edge.source, edge.target_input, value) for edge, value in data_flow.edge_values(state, node_id)
    )


def input_of_outcome(runtime: Runtime, state: RunState, call: NodeCall, outcome: NodeOutcome) -> Input:
    """The outcome as the run takes it in. Effects that are not allowed make a failure of it."""
    # Of the call, because the state may have gone on to the next attempt.
    node_id, entered = call.node_id, call.entry_sequence
    match outcome:
        case Completed(outputs, effects):
            if is_too_large(outputs):
                return input_of_outcome(runtime, state, call, OUTPUT_TOO_LARGE)
            wanted = _all_effect_events(state, node_id, effects)
            if isinstance(wanted, Failed):
                return input_of_outcome(runtime, state, call, wanted)
            if wanted and any(draft.child is not None and draft.payload["awaited"] for draft in wanted):
                return input_of_outcome(runtime, state, call, COMPLETED_WITH_AWAITED_CHILD)
            return NodeCompleted(node_id, outputs, wanted, entered)
        case AwaitsChildren(effects):
            wanted = _all_effect_events(state, node_id, effects)
            if isinstance(wanted, Failed):
                return input_of_outcome(runtime, state, call, wanted)
            return NodeAwaitsChildren(node_id, wanted, entered, call.last_child_event)
        case Suspended(interrupt, said):
            wanted = interrupt_failure(interrupt) or _all_effect_events(state, node_id, said)
            if isinstance(wanted, Failed):
                return input_of_outcome(runtime, state, call, wanted)
            return NodeSuspended(node_id, interrupt, entered, wanted)
        case Failed(code, message, details, retryable, said, cause):
            chance = runtime.ids.random_fraction()
            wanted = _all_effect_events(state, node_id, said)
            if isinstance(wanted, Failed):
                return input_of_outcome(runtime, state, call, wanted)
            return NodeFailed(node_id, code, message, details, retryable, chance, entered, wanted, cause)


def _all_effect_events(state: RunState, node_id: str, effects: tuple[NodeEffect, ...]) -> tuple[Draft, ...] | Failed:
    if not effects:
        return ()
    drafts: list[Draft] = []
    for effect in effects:
        wanted = effect_events(state, node_id, effect)
        if isinstance(wanted, Failed):
            return wanted
        drafts += wanted
    return tuple(drafts)


def input_of_exception(runtime: Runtime, state: RunState, call: NodeCall) -> Input:
    """What a node raised goes to the log file; the wire learns only that it failed.

    Whether the effect of a `once` node happened before that is not known, so it is not tried again.
    """
    log.exception("node raised", extra={"runId": call.run_id, "nodeId": call.node_id})
    return input_of_outcome(
        runtime, state, call, Failed("node_failed", RAISED_MESSAGE, retryable=not is_once_node(state, call))
    )


def is_once_node(state: RunState, call: NodeCall) -> bool:
    """Whether the node as a whole must not happen twice."""
    return state.plan.nodes[call.node_id].node.declaration.effect == "once"


def make_part_call(
    whole: NodeCall, inputs: dict[str, Any], config: dict[str, Any], item: str, untrusted: bool
) -> NodeCall:
    """What another node type is called with that runs as a part of this one."""
    return NodeCall(
        whole.run_id,
        f"{whole.node_id}[{item}]",
        inputs,
        config,
        whole.scope,
        iteration=whole.iteration,
        answers=whole.answers,
        visit=whole.visit,
        attempt=whole.attempt,
        entry_sequence=whole.entry_sequence,
        configurable=whole.configurable,
        untrusted=frozenset(inputs) if untrusted else frozenset(),
        part=True,
        hides=whole.hides,
    )
