"""`decide`: maps the state of a run and one input to events and actions. Pure.

Every event of a run comes from a decision, and everything that can happen to a run arrives here as an input. This
module decides the life cycle of nodes and of the run. Its sibling modules decide about interrupts, child runs, effects,
model answers and control of the run. `decide` never changes the state: the caller folds the events that it returns, and
passes a `Step` until a decision is empty.
"""

from typing import Any, Final

from msgspec import UNSET

from weftwork.engine.decide import inputs
from weftwork.engine.decide.child_runs import (
    await_children,
    await_timeout,
    may_continue,
    receive_results,
    recheck_children,
)
from weftwork.engine.decide.decision import (
    NOTHING,
    Decision,
    RunBounds,
    cancel_open_children,
    error_object,
    is_running,
    iteration_breach,
    running_node,
)
from weftwork.engine.decide.effect_claims import claim_effect, pin_version, record_effect
from weftwork.engine.decide.envelopes import record_answer, record_envelope
from weftwork.engine.decide.inputs import Input
from weftwork.engine.decide.interrupts import (
    answer_interrupt,
    pass_interrupt,
    remind_of_interrupt,
    suspend_node,
    time_out_interrupt,
)
from weftwork.engine.decide.model_gate import pass_model_gate
from weftwork.engine.decide.run_control import (
    cancel,
    cancel_waiting_nodes,
    may_interrupt,
    overwrite_variables,
    pause,
    resume,
)
from weftwork.protocol.fold.data_flow import given_untrusted
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.people.approvals import UNTRUSTED_BLOCKED, blocks_approval
from weftwork.protocol.people.interrupt_events import request_refusal
from weftwork.protocol.privacy.trust import is_untrusted_boundary
from weftwork.protocol.run import model_payloads, payloads
from weftwork.protocol.run.events import Draft
from weftwork.protocol.run.interrupts import interrupt_id
from weftwork.protocol.run.map_items import ItemError
from weftwork.protocol.timestamps import iso
from weftwork.protocol.workflow.definition import retry_delay
from weftwork.protocol.workflow.node_types import missing_capabilities
from weftwork.protocol.workflow.plan import HANDLES_FAILURE

HOST_ERROR: Final = error_object(
    "host_invariant_broken", "The run failed because of a bug in the host. The host's log has the details."
)
MAX_CRASHES: Final = 25
"""lim-13 (host): how often a node is executed again after its process died. Without this limit a node that crashes the
host would crash it at every start, and its run could not even be cancelled."""


def decide(state: RunState, bounds: RunBounds, input_: Input) -> Decision:
    """run-02: the decision for one input. An input that no longer applies gives an empty decision."""
    if state.completed_at is not None:
        return NOTHING
    match input_:
        case inputs.Step():
            return _step(state, bounds)
        case inputs.NodeCompleted(node_id, outputs, effects, entered):
            completed = cancel_open_children(state, Draft.of(payloads.NodeCompleted(node_id, outputs), node_id))
            return _append_if_running(state, node_id, entered, (*effects, completed))
        case inputs.NodeFailed():
            return fail_node(state, input_)
        case inputs.NodeSuspended() | inputs.InterruptPassed():
            return _request_interrupt(state, input_)
        case inputs.NodeAwaitsProvider():
            return await_provider(state, input_)
        case inputs.ProviderRetryDue():
            return _retry_provider(state, bounds, input_)
        case inputs.ItemsRecorded(node_id, items, _, entered):
            return _record_items(state, node_id, items, entered)
        case inputs.NodeAwaitsChildren():
            return _await_children(state, input_)
        case inputs.ChildrenRecheck(node_id, entered):
            return recheck_children(state, node_id, entered)
        case inputs.ChildResultsReceived():
            return receive_results(state, input_)
        case inputs.AwaitTimedOut():
            failed = await_timeout(state, input_)
            return _failure(state, failed) if failed is not None else NOTHING
        case inputs.NodeReexecuted(node_id, entered):
            return _reexecute(state, bounds, node_id, entered)
        case inputs.NodeEmitted(node_id, events, entered):
            return _append_if_running(state, node_id, entered, events)
        case inputs.EffectClaimed():
            return claim_effect(state, input_, closing=not bounds.parallel)
        case inputs.EffectEnded():
            return record_effect(state, input_)
        case inputs.ModelAnswered():
            return record_answer(state, input_)
        case inputs.EnvelopeEmitted():
            return record_envelope(state, input_)
        case inputs.VersionRequested():
            return pin_version(state, input_)
        case inputs.NodeStopped(node_id):
            if not state.stop:
                return NOTHING
            return _append_if_running(state, node_id, -1, (Draft.of(payloads.NodeCancelled(node_id), node_id),))
        case inputs.RetryDue(node_id, attempt):
            return _retry_node(state, bounds, node_id, attempt)
        case inputs.CancelRequested(reason, parent):
            return cancel(state, reason, parent)
        case inputs.PauseRequested(policy, reason):
            return pause(state, bounds, policy, reason)
        case inputs.ResumeRequested(reason):
            return resume(state, reason)
        case inputs.AnswerReceived():
            return answer_interrupt(state, input_)
        case inputs.VariablesOverwritten(values):
            return overwrite_variables(state, values)
        case inputs.InterruptTimedOut(name):
            return time_out_interrupt(state, name)
        case inputs.ReminderDue(name, number):
            return remind_of_interrupt(state, name, number)
        case inputs.RunTimedOut(limit, observed):
            return _time_up(state, limit, observed)
        case inputs.HostFailed():
            return Decision((Draft.of(payloads.RunFailed(HOST_ERROR)),))


def _append_if_running(state: RunState, node_id: str, entered: int, drafts: tuple[Draft, ...]) -> Decision:
    return Decision(drafts) if is_running(state, node_id, entered) else NOTHING


def _await_children(state: RunState, wait: inputs.NodeAwaitsChildren) -> Decision:
    if not is_running(state, wait.node_id, wait.entry_sequence) or state.stop is not None:
        return NOTHING
    decision = await_children(state, wait)
    return fail_node(state, decision) if isinstance(decision, inputs.NodeFailed) else decision


def _record_items(state: RunState, node_id: str, items: tuple[tuple[int, Any], ...], entered: int) -> Decision:
    """Record each item once. The same item arrives twice if a commit succeeded although it was reported as failed."""
    if not is_running(state, node_id, entered):
        return NOTHING
    recorded = state.nodes[node_id].map_items
    drafts = [
        Draft.of(
            payloads.MapItem(index, error=ended.error)
            if isinstance(ended, ItemError)
            else payloads.MapItem(index, ended),
            node_id,
        )
        for index, ended in items
        if index not in recorded
    ]
    return Decision(tuple(drafts)) if drafts else NOTHING


def fail_node(state: RunState, failed: inputs.NodeFailed) -> Decision:
    """node-12 (readings, Retries): a retryable failure schedules a retry while attempts are left; else the node
    fails."""
    return _failure(state, failed) if is_running(state, failed.node_id, failed.entry_sequence) else NOTHING


def _failure(state: RunState, failed: inputs.NodeFailed) -> Decision:
    node_id = failed.node_id
    node = state.nodes[node_id]
    failure = error_object(failed.code, failed.message, failed.details)
    retry = state.plan.nodes[node_id].node.retry
    if failed.retryable and node.failures < retry.max_retries and state.stop is None:
        delay = retry_delay(retry, node.failures, failed.jitter)
        ended = payloads.NodeRetried(node_id, node.attempt + 1, delay, failure)
    else:
        ended = payloads.NodeFailed(node_id, failure, node.attempt if node.attempt > 1 else UNSET)
    return Decision((*failed.effects, cancel_open_children(state, Draft.of(ended, node_id), failed.cause)))


def _request_interrupt(state: RunState, request: inputs.NodeSuspended | inputs.InterruptPassed) -> Decision:
    """Suspend the node, or resolve the interrupt at once. A refused interrupt fails its node."""
    node_id, entered = request.node_id, request.entry_sequence
    if not is_running(state, node_id, entered) or state.stop is not None:
        return NOTHING
    if isinstance(request, inputs.InterruptPassed) and request.interrupt.key in state.resolutions:
        return NOTHING
    passes = isinstance(request, inputs.InterruptPassed)
    if (text := request_refusal(state, request.interrupt, passes)) is not None:
        blocked = passes and blocks_approval(request.interrupt.kind, state.nodes[node_id].untrusted)
        code = UNTRUSTED_BLOCKED if blocked else "node_misused"
        return fail_node(state, inputs.NodeFailed(node_id, code, text, retryable=False, entry_sequence=entered))
    return Decision(
        suspend_node(state, request) if isinstance(request, inputs.NodeSuspended) else pass_interrupt(state, request)
    )


def _time_up(state: RunState, limit: int, observed: int) -> Decision:
    """lim-02 (OpenWOP capabilities, limits): one cap.breached, observed above the limit, then the run fails."""
    if state.stop is not None:
        return NOTHING
    breach = _breach("run-duration", limit, max(observed, limit + 1))
    # The timer outlives a commit that failed after it was armed, and then the log has no run.started yet.
    return Decision((breach,) if state.started_at is not None else (_run_started(state), breach))


def _breach(kind: str, limit: int, observed: int, node_id: str | None = None) -> Draft:
    return Draft.of(payloads.CapBreached(kind, limit, observed, node_id or UNSET), node_id)


def _run_started(state: RunState) -> Draft:
    header = state.header
    owner = {"tenant": header.owner.tenant, "principal": header.owner.principal}
    payload = payloads.RunStarted(header.workflow_id, state.inputs, owner)
    # Most runs have neither a parent nor a source.
    given = (header.parent is not None or header.fork is not None) and given_untrusted(header)
    untrusted = given or (
        # Most runs have no options.
        header.configurable and state.inputs and is_untrusted_boundary(header.configurable)
    )
    return Draft.of(payload, content_trust="untrusted" if untrusted else None)


def _step(state: RunState, bounds: RunBounds) -> Decision:
    if state.started_at is None:
        return Decision((_run_started(state),))
    if state.stop is not None:
        return Decision(stop=True) if state.running else Decision(_stop_run(state))
    if state.status == "paused":
        return NOTHING
    if state.pausing is not None:
        paused = Draft.of(payloads.RunPaused(state.pausing, state.pause_reason or UNSET))
        return Decision((paused,), interrupt=True) if may_interrupt(state, bounds, state.pausing) else NOTHING
    if state.resumable:
        # A host that closes starts nothing new; bounds.parallel is 0 then.
        return _resume_answered(state, state.resumable[0][1]) if bounds.parallel else NOTHING
    if state.to_fail:
        node_id = state.to_fail[0][1]
        return Decision((Draft.of(payloads.NodeFailed(node_id, state.nodes[node_id].error), node_id),))
    if state.to_skip:
        return Decision(tuple(_node_skipped(state, node_id) for _, node_id in state.to_skip))
    if state.ready:
        busy = len(state.running) + len(state.retrying)
        return _start_node(state, bounds, state.ready[0][1]) if busy < bounds.parallel else NOTHING
    if state.running or state.retrying or state.suspended or state.awaiting_children:
        return NOTHING
    return Decision((_loop_stuck(state) if state.stuck_loops else run_end_event(state),))


def run_end_event(state: RunState) -> Draft:
    """run-04 (readings, Data flow): run.failed with the first failure that no node handles, else run.completed."""
    nodes = state.plan.nodes
    for _, node_id in state.failures:
        targets = [nodes[edge.target] for edge in nodes[node_id].outgoing]
        if not any(target.trigger_rule in HANDLES_FAILURE and not target.node.disabled for target in targets):
            return Draft.of(payloads.RunFailed(state.nodes[node_id].error, node_id))
    return Draft.of(payloads.RunCompleted(run_outputs(state)))


def run_outputs(state: RunState) -> dict[str, Any]:
    """data-02 (readings, Data flow): outputs by node id of the primary nodes, else of the sinks."""
    return {
        node_id: state.nodes[node_id].outputs
        for node_id in state.plan.primary or state.plan.sinks
        if node_id in state.nodes and state.nodes[node_id].status == "completed"
    }


def _resume_answered(state: RunState, node_id: str) -> Decision:
    """int-05 (OpenWOP interrupt): the node resumes with its answer, as the same attempt."""
    name = interrupt_id(node_id, state.nodes[node_id].interrupts)
    resumed = Draft.of(payloads.NodeResumed(node_id, name), node_id, interrupt_id=name)
    return Decision((resumed,), start=node_id)


def _loop_stuck(state: RunState) -> Draft:
    """lim-09 (OpenWOP workflow-definition, readings, Determinism): a loop that cannot continue fails the run after all
    other nodes have ended, as a failed node does. The result then does not depend on which node was faster."""
    number, failure = min(state.stuck_loops.items(), key=lambda each: each[0])
    if failure is not None:
        return Draft.of(payloads.RunFailed(failure))
    limit = state.plan.max_rounds(number)
    node_id = state.plan.loops[number].target
    return Draft.of(payloads.LoopbackLimit(node_id, state.loop_rounds.get(number, 0) + 1, limit), node_id)


def _node_skipped(state: RunState, node_id: str) -> Draft:
    reason = "disabled" if state.plan.nodes[node_id].node.disabled else "trigger-rule"
    return Draft.of(payloads.NodeSkipped(node_id, reason), node_id)


def _retry_node(state: RunState, bounds: RunBounds, node_id: str, attempt: int) -> Decision:
    node = state.retrying.get(node_id)
    if node is None or node.attempt != attempt or node.provider_wait is not None or not _may_retry(state, bounds):
        return NOTHING
    return _start_node(state, bounds, node_id)


def _may_retry(state: RunState, bounds: RunBounds) -> bool:
    """Also False while the host closes."""
    return may_continue(state) and bounds.parallel > 0


def await_provider(state: RunState, wait: inputs.NodeAwaitsProvider) -> Decision:
    """park-05 (host): the entry of the node ends, and its attempt does not."""
    node_id = wait.node_id
    if running_node(state, node_id, wait.entry_sequence) is None or state.stop is not None:
        return NOTHING
    waiting = model_payloads.ProviderWaiting(node_id, wait.provider, wait.code, iso(wait.retry_at))
    return Decision((Draft.of(waiting, node_id),))


def _retry_provider(state: RunState, bounds: RunBounds, due: inputs.ProviderRetryDue) -> Decision:
    """park-05 (host): the node is called again as the same attempt, and this is no execution of its own."""
    node_id = due.node_id
    node = state.retrying.get(node_id)
    if node is None or node.provider_wait is None or node.entry_sequence != due.entry_sequence:
        return NOTHING
    if not _may_retry(state, bounds):
        return NOTHING
    return Decision((Draft.of(model_payloads.ProviderRetried(node_id), node_id),), start=node_id)


def _start_node(state: RunState, bounds: RunBounds, node_id: str) -> Decision:
    if state.executions >= bounds.executions:
        # lim-03 (OpenWOP capabilities, limits): checked before the node starts, so at most `limit` nodes ever start.
        return Decision((_breach("node-executions", bounds.executions, state.executions + 1, node_id),))
    node = state.plan.nodes[node_id].node
    declaration = node.declaration
    if declaration.role and (breach := iteration_breach(state, bounds, node)) is not None:
        limit, observed = breach
        return Decision((_breach("loop-iterations", limit, observed, node_id),))
    if declaration.requires and (missing := missing_capabilities(declaration.requires, bounds.provided)):
        message = f"The node needs the runtime capability {missing[0]}, and this host does not provide it."
        failure = error_object("capability_not_provided", message, {"capability": missing[0]})
        return Decision((Draft.of(payloads.NodeFailed(node_id, failure), node_id),))
    attempt = state.nodes[node_id].attempt + 1
    if node.model_needs is None:
        started = payloads.NodeStarted(node_id, declaration.type_id, attempt)
        return Decision((Draft.of(started, node_id),), start=node_id)
    passed = pass_model_gate(state, bounds.models, node_id, node.model_needs)
    if passed.model is None:
        return Decision(passed.events)
    started = payloads.NodeStarted(node_id, declaration.type_id, attempt, passed.model.document())
    return Decision((*passed.events, Draft.of(started, node_id)), start=node_id)


def _reexecute(state: RunState, bounds: RunBounds, node_id: str, entered: int) -> Decision:
    """node-14 (readings, Recovery): executing a node again after a crash counts as its next attempt."""
    if state.stop is not None or not is_running(state, node_id, entered):
        return NOTHING
    if state.running[node_id].crashes >= MAX_CRASHES:
        failure = error_object("node_crashed", f"The host process died {MAX_CRASHES + 1} times while this node ran.")
        failed = payloads.NodeFailed(node_id, failure, state.running[node_id].attempt)
        return Decision((Draft.of(failed, node_id),))
    return _start_node(state, bounds, node_id)


def _stop_run(state: RunState) -> tuple[Draft, ...]:
    """Cancel the nodes that wait, then end the run as failed or cancelled."""
    stop = state.stop
    cancelled = cancel_waiting_nodes(state)
    if stop is not None and stop.error is not None:
        return (*cancelled, Draft.of(payloads.RunFailed(stop.error)))
    reason, parent = (stop.reason, stop.parent_run_id) if stop is not None else (None, None)
    return (*cancelled, Draft.of(payloads.RunCancelled(reason or UNSET, parent or UNSET)))
