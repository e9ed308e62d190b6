"""The heart: from a state and one input to events and effects. Pure; the caller does everything else.

Every event that starts, ends or stops something is decided here and in `steer`. `decide` never changes the
state: the caller folds the events it returns and asks again until nothing more is to be done.
"""

from typing import Any, Final

from weftwork.engine.decide.child_runs import hear, look, out_of_time, wait
from weftwork.engine.decide.decision import NOTHING, Bounds, Decision, ending, error, is_running, leaving, too_often
from weftwork.engine.decide.effect_claims import claim, pin, record
from weftwork.engine.decide.envelopes import keep, send
from weftwork.engine.decide.inputs import (
    AnswerGiven,
    AwaitDue,
    CancelAsked,
    ChildNews,
    EffectClaimed,
    EffectEnded,
    EnvelopeSent,
    HostBroke,
    Input,
    InterruptDue,
    InterruptPassed,
    Look,
    ModelAnswered,
    NodeAgain,
    NodeAwaits,
    NodeCompleted,
    NodeFailed,
    NodeRecorded,
    NodeSaid,
    NodeStopped,
    NodeSuspended,
    PauseAsked,
    ReminderDue,
    ResumeAsked,
    RetryDue,
    Step,
    TimeUp,
    VariablesGiven,
    VersionAsked,
)
from weftwork.engine.decide.interrupts import answer, let_pass, remind, suspend, time_out
from weftwork.engine.decide.run_control import (
    cancel,
    cancellation,
    may_interrupt,
    overwrite,
    pause,
    resume,
    still_waiting,
)
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.people.interrupt_events import request_refusal
from weftwork.protocol.run.events import MAP_ITEM, Draft
from weftwork.protocol.run.interrupts import interrupt_id
from weftwork.protocol.workflow.node_settings import retry_delay
from weftwork.protocol.workflow.node_types import missing_capabilities
from weftwork.protocol.workflow.plan import HANDLES_FAILURE


def finished(state: RunState) -> Draft:
    """run-04 (readings, Data flow): failed by the first failure nobody handles, else completed with outputs."""
    nodes = state.plan.nodes
    for _, node_id in state.failures:
        targets = [nodes[edge.target] for edge in nodes[node_id].outgoing]
        if not any(target.trigger_rule in HANDLES_FAILURE and not target.node.disabled for target in targets):
            return Draft("run.failed", {"error": state.nodes[node_id].error, "failedNodeId": node_id})
    return Draft("run.completed", {"outputs": run_outputs(state)})


def run_outputs(state: RunState) -> dict[str, Any]:
    """data-02 (readings, Data flow): outputs by node id of the primary nodes, else of the sinks."""
    primary = [node_id for node_id in state.plan.order if state.plan.nodes[node_id].node.is_primary]
    chosen = primary or state.plan.sinks
    return {
        node_id: state.nodes[node_id].outputs
        for node_id in chosen
        if node_id in state.nodes and state.nodes[node_id].status == "completed"
    }


BROKEN: Final = error("host_invariant_broken", "The host found an error of its own; its log has the details.")
MAX_CRASHES: Final = 25
"""lim-13 (host): how often a node is executed again because its process ended. One that takes the host down with it
would else do so at every start, and nobody could even cancel its run."""


def decide(state: RunState, bounds: Bounds, given: Input) -> Decision:
    """run-02: what follows from this input. An input that no longer matters decides nothing."""
    if state.completed_at is not None:
        return NOTHING
    match given:
        case Step():
            return _step(state, bounds)
        case NodeCompleted(node_id, outputs, effects, entered):
            completed = leaving(state, ending("node.completed", node_id, outputs=outputs))
            return _end(state, node_id, entered, (*effects, completed))
        case NodeFailed():
            return _failed(state, given)
        case NodeSuspended() | InterruptPassed():
            return _asks(state, given)
        case NodeRecorded(node_id, items, _, entered):
            return _record(state, node_id, items, entered)
        case NodeAwaits():
            return _awaits(state, given)
        case Look(node_id, entered):
            return look(state, node_id, entered)
        case ChildNews():
            return hear(state, given)
        case AwaitDue():
            late = out_of_time(state, given)
            return _failed(state, late) if late is not None else NOTHING
        case NodeAgain(node_id, entered):
            return _again(state, bounds, node_id, entered)
        case NodeSaid(node_id, events, entered):
            return _end(state, node_id, entered, events)
        case EffectClaimed():
            return claim(state, given, closing=not bounds.parallel)
        case EffectEnded():
            return record(state, given)
        case ModelAnswered() | EnvelopeSent():
            return keep(state, given) if isinstance(given, ModelAnswered) else send(state, given)
        case VersionAsked():
            return pin(state, given)
        case NodeStopped(node_id):
            return _end(state, node_id, -1, (ending("node.cancelled", node_id),)) if state.stop else NOTHING
        case RetryDue(node_id, attempt):
            return _retry(state, bounds, node_id, attempt)
        case CancelAsked(reason, parent):
            return cancel(state, reason, parent)
        case PauseAsked(policy, reason):
            return pause(state, bounds, policy, reason)
        case ResumeAsked(reason):
            return resume(state, reason)
        case AnswerGiven() | VariablesGiven():
            return answer(state, given) if isinstance(given, AnswerGiven) else overwrite(state, given.values)
        case InterruptDue(name):
            return time_out(state, name)
        case ReminderDue(name, number):
            return remind(state, name, number)
        case TimeUp(limit, observed):
            return _time_up(state, limit, observed)
        case HostBroke():
            return Decision((Draft("run.failed", {"error": BROKEN}),))


def _end(state: RunState, node_id: str, entered: int, drafts: tuple[Draft, ...]) -> Decision:
    return Decision(drafts) if is_running(state, node_id, entered) else NOTHING


def _awaits(state: RunState, given: NodeAwaits) -> Decision:
    if not is_running(state, given.node_id, given.entered) or state.stop is not None:
        return NOTHING
    decided = wait(state, given)
    return _failed(state, decided) if isinstance(decided, NodeFailed) else decided


def _record(state: RunState, node_id: str, items: tuple[tuple[int, Any], ...], entered: int) -> Decision:
    """Items once each: word of them comes twice when a commit was thought to have failed."""
    if not is_running(state, node_id, entered):
        return NOTHING
    known = state.running[node_id].map_items
    drafts = [
        Draft(MAP_ITEM, {"index": index, "output": output}, node_id) for index, output in items if index not in known
    ]
    return Decision(tuple(drafts)) if drafts else NOTHING


def _failed(state: RunState, given: NodeFailed) -> Decision:
    """node-12 (readings, Retries): tried again while there are attempts left and it can get better."""
    node_id = given.node_id
    if not is_running(state, node_id, given.entered):
        return NOTHING
    node = state.nodes[node_id]
    failure = error(given.code, given.message, given.details)
    retry = state.plan.nodes[node_id].node.retry
    if given.retryable and node.failures < retry.max_retries and state.stop is None:
        delay = retry_delay(retry, node.failures, given.chance)
        again = {"attempt": node.attempt + 1, "delayMs": delay, "lastError": failure}
        return Decision((*given.effects, leaving(state, ending("node.retried", node_id, **again), given.cause)))
    attempts = {"attempts": node.attempt} if node.attempt > 1 else {}
    return Decision(
        (*given.effects, leaving(state, ending("node.failed", node_id, error=failure, **attempts), given.cause))
    )


def _asks(state: RunState, given: NodeSuspended | InterruptPassed) -> Decision:
    """A question that cannot be asked here fails the node that asks it."""
    node_id, entered = given.node_id, given.entered
    if not is_running(state, node_id, entered) or state.stop is not None:
        return NOTHING
    if isinstance(given, InterruptPassed) and given.interrupt.key in state.resolutions:
        return NOTHING
    if (text := request_refusal(state, given.interrupt, isinstance(given, InterruptPassed))) is not None:
        return _failed(state, NodeFailed(node_id, "node_misused", text, retryable=False, entered=entered))
    return Decision(suspend(state, given) if isinstance(given, NodeSuspended) else let_pass(state, given))


def _time_up(state: RunState, limit: int, observed: int) -> Decision:
    """lim-02 (OpenWOP capabilities, limits): one cap.breached, observed above the limit, then the run fails."""
    if state.stop is not None:
        return NOTHING
    return Decision((_breach("run-duration", limit, max(observed, limit + 1)),))


def _breach(kind: str, limit: int, observed: int, node_id: str | None = None) -> Draft:
    payload: dict[str, Any] = {"kind": kind, "limit": limit, "observed": observed}
    if node_id is not None:
        payload["nodeId"] = node_id
    return Draft("cap.breached", payload, node_id)


def _opening(state: RunState) -> Draft:
    header = state.header
    owner = {"tenant": header.owner.tenant, "principal": header.owner.principal}
    payload = {"workflowId": header.workflow_id, "inputs": state.inputs, "owner": owner}
    untrusted = header.parent is not None and bool(header.parent.untrusted)
    return Draft("run.started", payload, content_trust="untrusted" if untrusted else None)


def _step(state: RunState, bounds: Bounds) -> Decision:
    if state.started_at is None:
        return Decision((_opening(state),))
    if state.stop is not None:
        return Decision(stop=True) if state.running else Decision(_stopped(state))
    if state.status == "paused":
        return NOTHING
    if state.pausing is not None:
        paused = Draft("run.paused", {"drainPolicy": state.pausing, **_reason(state.pause_reason)})
        return Decision((paused,), interrupt=True) if may_interrupt(state, bounds, state.pausing) else NOTHING
    if state.resumable:
        # A host that goes away begins nothing more.
        return _resumed(state, state.resumable[0][1]) if bounds.parallel else NOTHING
    if state.to_fail:
        node_id = state.to_fail[0][1]
        return Decision((ending("node.failed", node_id, error=state.nodes[node_id].error),))
    if state.to_skip:
        return Decision(tuple(_skip(state, node_id) for _, node_id in state.to_skip))
    if state.ready:
        busy = len(state.running) + len(state.retrying)
        return _start(state, bounds, state.ready[0][1]) if busy < bounds.parallel else NOTHING
    if state.running or state.retrying or state.suspended or state.awaiting_children:
        return NOTHING
    return Decision((_stuck(state) if state.stuck_loops else finished(state),))


def _resumed(state: RunState, node_id: str) -> Decision:
    """int-05 (OpenWOP interrupt): the node goes on with its answer, as the same attempt."""
    name = interrupt_id(node_id, state.nodes[node_id].interrupts)
    resumed = Draft("node.resumed", {"nodeId": node_id, "interruptId": name}, node_id, interrupt_id=name)
    return Decision((resumed,), start=node_id)


def _stuck(state: RunState) -> Draft:
    """lim-09 (OpenWOP workflow-definition, readings, Determinism): a loop that cannot go on fails the run as a failed
    node does, when all else is done; so it is the same loop and the same rest, whichever was faster."""
    number, failure = min(state.stuck_loops.items(), key=lambda each: each[0])
    if failure is not None:
        return Draft("run.failed", {"error": failure})
    limit = state.plan.max_rounds(number)
    node_id = state.plan.loops[number].target
    return ending("workflow.loopback-limit", node_id, iterations=state.loop_rounds.get(number, 0) + 1, limit=limit)


def _skip(state: RunState, node_id: str) -> Draft:
    reason = "disabled" if state.plan.nodes[node_id].node.disabled else "trigger-rule"
    return ending("node.skipped", node_id, reason=reason)


def _retry(state: RunState, bounds: Bounds, node_id: str, attempt: int) -> Decision:
    idle = state.status == "paused" or state.pausing is not None or state.stop is not None or not bounds.parallel
    node = state.retrying.get(node_id)
    return NOTHING if idle or node is None or node.attempt != attempt else _start(state, bounds, node_id)


def _start(state: RunState, bounds: Bounds, node_id: str) -> Decision:
    if state.executions >= bounds.executions:
        # lim-03 (OpenWOP capabilities, limits): found before the node starts, so at most `limit` nodes ever start.
        return Decision((_breach("node-executions", bounds.executions, state.executions + 1, node_id),))
    node = state.plan.nodes[node_id].node
    declaration = node.declaration
    if declaration.role and (over := too_often(state, bounds, node)) is not None:
        return Decision((_breach("loop-iterations", *over, node_id),))
    if declaration.requires and (missing := missing_capabilities(declaration.requires, bounds.provided)):
        message = f"The node needs the runtime capability {missing[0]}, which this host does not provide."
        failure = error("capability_not_provided", message, {"capability": missing[0]})
        return Decision((ending("node.failed", node_id, error=failure),))
    attempt = state.nodes[node_id].attempt + 1
    payload = {"nodeId": node_id, "typeId": declaration.type_id, "attempt": attempt}
    return Decision((Draft("node.started", payload, node_id),), start=node_id)


def _again(state: RunState, bounds: Bounds, node_id: str, entered: int) -> Decision:
    """node-14 (readings, Recovery): an attempt that is executed again is the next one, and says so."""
    if state.stop is not None or not is_running(state, node_id, entered):
        return NOTHING
    if state.running[node_id].crashes >= MAX_CRASHES:
        failure = error("node_crashed", f"The host ended {MAX_CRASHES + 1} times while this node ran.")
        return Decision((ending("node.failed", node_id, error=failure, attempts=state.running[node_id].attempt),))
    return _start(state, bounds, node_id)


def _reason(reason: str | None) -> dict[str, Any]:
    return {"reason": reason} if reason else {}


def _stopped(state: RunState) -> tuple[Draft, ...]:
    """What still waited is cancelled along with the run."""
    stop = state.stop
    cancelled = still_waiting(state)
    if stop is not None and stop.error is not None:
        return (*cancelled, Draft("run.failed", {"error": stop.error}))
    return (
        *cancelled,
        Draft("run.cancelled", cancellation(stop.reason, stop.parent_run_id) if stop is not None else {}),
    )
