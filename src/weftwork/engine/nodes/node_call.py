"""A call of a node: builds its arguments from the state, and turns its outcome into an input of the run."""

import logging
from typing import Any, Final, cast

from weftwork.engine.decide.inputs import (
    Input,
    NodeAwaitsChildren,
    NodeAwaitsProvider,
    NodeCompleted,
    NodeFailed,
    NodeSuspended,
)
from weftwork.engine.node_events import OUTPUT_TOO_LARGE, effect_events, interrupt_failure
from weftwork.engine.nodes.entry_expressions import EntryExpressions
from weftwork.engine.nodes.interrupt_form import record_form
from weftwork.engine.runtime import Runtime
from weftwork.ports.node_outcome import (
    AwaitsChildren,
    AwaitsProvider,
    Completed,
    Failed,
    NodeEffect,
    NodeOutcome,
    Suspended,
)
from weftwork.ports.nodes import Arrival, NodeCall
from weftwork.protocol.fold import data_flow
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json import schema
from weftwork.protocol.json.values import memory_size
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.run.events import Draft

log = logging.getLogger("weftwork.node")

COMPLETED_WITH_AWAITED_CHILD: Final = Failed(
    "node_misused", "The node completed although it started a child run that it waits for.", retryable=False
)
RAISED_MESSAGE: Final = "The node raised an error; the host's log has the details."


def make_call(
    runtime: Runtime, state: RunState, node_id: str, evaluator: EntryExpressions | None = None
) -> NodeCall | NodeFailed:
    """The arguments of the node, or a failure that is not retryable if its inputs are missing or invalid.

    `evaluator` evaluates the expressions of the entry. Raises EvaluationPostponed if that has to wait; the caller then
    repeats the call within `EntryExpressions.settle`.
    """
    place = state.plan.nodes[node_id]
    node, declaration = place.node, place.node.declaration
    entered = state.nodes[node_id].entry_sequence
    # The end of a long wait was computed when the node started, and inputs may have become invalid since.
    is_waiting = declaration.wait_end is not None and state.nodes[node_id].long_wait_end
    if evaluator is None and node.has_expression_ports:
        evaluator = runtime.make_evaluator(state.header)
    inputs = data_flow.resolve_inputs(state, node_id, evaluator) if not is_waiting else {}
    if isinstance(inputs, data_flow.MissingInput):
        message = f"The input {inputs.port} has no value: {inputs.source} is not set."
        return NodeFailed(node_id, "node_input_missing", message, retryable=False, entry_sequence=entered)
    if isinstance(inputs, data_flow.FailedInput):
        message = f"The expression of the input {inputs.port} failed: {inputs.message}"
        return NodeFailed(node_id, inputs.code, message, {"port": inputs.port}, retryable=False, entry_sequence=entered)
    node_state = state.nodes[node_id]
    # A node with children was called before with the same inputs, which were valid.
    failure = check_node_inputs(declaration.inputs, inputs) if not node_state.children else None
    if failure is not None:
        return NodeFailed(
            node_id, failure.code, failure.message, failure.details, retryable=False, entry_sequence=entered
        )
    untrusted = data_flow.untrusted_inputs(state, node_id)
    return NodeCall(
        state.header.run_id,
        node_id,
        inputs,
        node.config,
        data_flow.NodeScope(state, node_id, inputs, untrusted, runtime.make_evaluator, evaluator),
        state.loop_rounds.get(place.counted_loop, 0) if place.counted_loop is not None else 0,
        _make_arrivals(state, node_id) if declaration.gathers_edges else (),
        state.resolutions,
        node_state.visits,
        node_state.attempt,
        entered,
        node_state.children.copy(),
        node_state.last_child_event,
        node_state.open_children,
        node_state.failed_children,
        node_state.decision,
        node.agent,
        state.header.configurable,
        contract=node.contract,
        prompt_refs=node.prompt_refs,
        hides=place.hides_outputs,
        untrusted=untrusted,
        composed_prompts=node_state.composed_prompts,
    )


def entry_expressions(call: NodeCall) -> EntryExpressions:
    """The evaluator of the entry that a call of `make_call` belongs to."""
    return cast(EntryExpressions, cast(data_flow.NodeScope, call.scope).evaluator)


def check_node_inputs(input_schema: dict[str, Any], inputs: dict[str, Any]) -> Failed | None:
    """A failure if the inputs do not match the schema of the node type, else None."""
    violations = schema.check_inline(input_schema, inputs, "/inputs")
    if not violations:
        return None
    message = f"An input of the node is invalid: the value at the pointer {violations[0].message}."
    return Failed("node_config_invalid", message, {"pointer": violations[0].pointer}, retryable=False)


def _make_arrivals(state: RunState, node_id: str) -> tuple[Arrival, ...]:
    return tuple(
        Arrival(edge.source, edge.target_input, value) for edge, value in data_flow.edge_values(state, node_id)
    )


def input_of_outcome(
    runtime: Runtime, state: RunState, call: NodeCall, outcome: NodeOutcome, redactor: Redactor | None = None
) -> Input:
    """The outcome as an input of the run. An outcome with an effect that is not allowed becomes a failure.

    `redactor` removes sensitive values from the form of an interrupt.
    """
    # The entry of the call counts, because the state may already be at the next attempt.
    node_id, entered = call.node_id, call.entry_sequence
    match outcome:
        case Completed(outputs, effects):
            size = memory_size(outputs) if outputs else 0
            if size < 0:
                return input_of_outcome(runtime, state, call, OUTPUT_TOO_LARGE)
            drafts = _all_effect_events(state, node_id, effects)
            if isinstance(drafts, Failed):
                return input_of_outcome(runtime, state, call, drafts)
            if drafts and any(draft.child is not None and draft.payload["awaited"] for draft in drafts):
                return input_of_outcome(runtime, state, call, COMPLETED_WITH_AWAITED_CHILD)
            for draft in drafts:
                size += max(memory_size(draft.payload), 0)
            return NodeCompleted(node_id, outputs, drafts, entered, size)
        case AwaitsChildren(effects):
            drafts = _all_effect_events(state, node_id, effects)
            if isinstance(drafts, Failed):
                return input_of_outcome(runtime, state, call, drafts)
            return NodeAwaitsChildren(node_id, drafts, entered, call.last_child_event)
        case AwaitsProvider(provider, code, retry_at):
            return NodeAwaitsProvider(node_id, provider, code, retry_at, entered)
        case Suspended(interrupt, own_effects):
            drafts = interrupt_failure(interrupt, runtime.types) or _all_effect_events(state, node_id, own_effects)
            if isinstance(drafts, Failed):
                return input_of_outcome(runtime, state, call, drafts)
            if interrupt.form is None:
                return NodeSuspended(node_id, interrupt, entered, drafts)
            form = record_form(runtime, state, call, redactor, outcome)
            if isinstance(form, Failed):
                return input_of_outcome(runtime, state, call, form)
            return NodeSuspended(node_id, form.interrupt, entered, (*drafts, *form.drafts), form.cause)
        case Failed(code, message, details, retryable, own_effects, cause):
            jitter = runtime.ids.random_fraction()
            drafts = _all_effect_events(state, node_id, own_effects)
            if isinstance(drafts, Failed):
                return input_of_outcome(runtime, state, call, drafts)
            return NodeFailed(node_id, code, message, details, retryable, jitter, entered, drafts, cause)


def _all_effect_events(state: RunState, node_id: str, effects: tuple[NodeEffect, ...]) -> tuple[Draft, ...] | Failed:
    if not effects:
        return ()
    drafts: list[Draft] = []
    for effect in effects:
        events = effect_events(state, node_id, effect)
        if isinstance(events, Failed):
            return events
        drafts += events
    return tuple(drafts)


def input_of_exception(runtime: Runtime, state: RunState, call: NodeCall) -> Input:
    """The failure of a node that raised an unexpected exception. The exception is logged and not shown on the wire.

    The failure of a `once` node is not retryable, because its effect may have happened before the exception.
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
    """The arguments of a node type that runs as a part of the node `whole`."""
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
        composed_prompts=whole.composed_prompts,
    )
