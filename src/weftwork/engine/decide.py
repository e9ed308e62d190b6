"""The heart: from a state and one input to events and effects. Pure; the caller does everything else.

Every event that starts, ends or stops something is decided here and in `steer`. `decide` never changes the
state: the caller folds the events it returns and asks again until nothing more is to be done.
"""

from typing import Any, Final

from weftwork.engine.answering import answer, remind, time_out
from weftwork.engine.decision import NOTHING, Bounds, Decision, error
from weftwork.engine.inputs import (
    AnswerGiven,
    CancelAsked,
    EffectClaimed,
    EffectEnded,
    HostBroke,
    Input,
    InterruptDue,
    InterruptPassed,
    NodeAgain,
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
    VersionAsked,
)
from weftwork.engine.ledger import claim, pin, record
from weftwork.engine.steer import cancel, may_interrupt, pause, resume
from weftwork.protocol.asking import misplaced, suspension, when_asked, when_passed
from weftwork.protocol.events import MAP_ITEM, Draft
from weftwork.protocol.graph import HANDLES_FAILURE
from weftwork.protocol.interrupt import Interrupt, interrupt_id, payload_of
from weftwork.protocol.node_type import missing_capabilities
from weftwork.protocol.retry import retry_delay
from weftwork.protocol.state import RunState

MAX_CRASHES: Final = 25
"""lim-13 (host): how often a node is executed again because its process ended. One that takes the host down with it
would else do so at every start, and nobody could even cancel its run."""


def decide(state: RunState, bounds: Bounds, given: Input) -> Decision:
    """run-02: what follows from this input. An input that no longer matters decides nothing."""
    if state.terminal:
        return NOTHING
    match given:
        case Step():
            return _step(state, bounds)
        case NodeCompleted(node_id, outputs, effects, entered):
            return _end(state, node_id, entered, (*effects, _ending("node.completed", node_id, outputs=outputs)))
        case NodeFailed():
            return _failed(state, given)
        case NodeSuspended(node_id, interrupt, entered):
            return _suspend(state, node_id, interrupt, entered)
        case NodeRecorded(node_id, items, _, entered):
            return _record(state, node_id, items, entered)
        case NodeAgain(node_id, entered):
            return _again(state, bounds, node_id, entered)
        case NodeSaid(node_id, events, entered):
            return _end(state, node_id, entered, events)
        case EffectClaimed():
            return claim(state, given, closing=not bounds.parallel)
        case EffectEnded():
            return record(state, given)
        case VersionAsked():
            return pin(state, given)
        case NodeStopped(node_id):
            return _end(state, node_id, -1, (_ending("node.cancelled", node_id),)) if state.stop else NOTHING
        case RetryDue(node_id, attempt):
            return _retry(state, bounds, node_id, attempt)
        case CancelAsked(reason):
            return cancel(state, reason)
        case PauseAsked(policy, reason):
            return pause(state, bounds, policy, reason)
        case ResumeAsked(reason):
            return resume(state, reason)
        case AnswerGiven():
            return answer(state, given)
        case InterruptPassed():
            return _pass(state, given)
        case InterruptDue(name):
            return time_out(state, name)
        case ReminderDue(name, number):
            return remind(state, name, number)
        case TimeUp(limit, observed):
            return _time_up(state, limit, observed)
        case HostBroke():
            message = "The host found an error of its own; its log has the details."
            return Decision((Draft("run.failed", {"error": error("host_invariant_broken", message)}),))


def _ending(kind: str, node_id: str, /, **members: Any) -> Draft:
    return Draft(kind, {"nodeId": node_id, **members}, node_id)


def _is_running(state: RunState, node_id: str, entered: int) -> bool:
    """Whether this entry is the one that runs; word of an older one comes too late."""
    node = state.running.get(node_id)
    return node is not None and entered in (-1, node.entered)


def _end(state: RunState, node_id: str, entered: int, drafts: tuple[Draft, ...]) -> Decision:
    return Decision(drafts) if _is_running(state, node_id, entered) else NOTHING


def _record(state: RunState, node_id: str, items: tuple[tuple[int, Any], ...], entered: int) -> Decision:
    """Items once each: word of them comes twice when a commit was thought to have failed."""
    if not _is_running(state, node_id, entered):
        return NOTHING
    known = state.running[node_id].items
    drafts = [
        Draft(MAP_ITEM, {"index": index, "output": output}, node_id) for index, output in items if index not in known
    ]
    return Decision(tuple(drafts)) if drafts else NOTHING


def _failed(state: RunState, given: NodeFailed) -> Decision:
    """node-12 (readings, Retries): tried again while there are attempts left and it can get better."""
    node_id = given.node_id
    if not _is_running(state, node_id, given.entered):
        return NOTHING
    node = state.running[node_id]
    failure = error(given.code, given.message, given.details)
    retry = state.plan.nodes[node_id].node.retry
    if given.retryable and node.failures < retry.most and state.stop is None:
        delay = retry_delay(retry, node.failures, given.chance)
        again = {"attempt": node.attempt + 1, "delayMs": delay, "lastError": failure}
        return Decision((_ending("node.retried", node_id, **again),))
    attempts = {"attempts": node.attempt} if node.attempt > 1 else {}
    return Decision((_ending("node.failed", node_id, error=failure, **attempts),))


def _suspend(state: RunState, node_id: str, interrupt: Interrupt, entered: int) -> Decision:
    """int-04 (OpenWOP interrupt): the question, then the node that waits for its answer."""
    if not _is_running(state, node_id, entered) or state.stop is not None:
        return NOTHING
    if (text := misplaced(state, interrupt)) is not None:
        return _failed(state, NodeFailed(node_id, "node_misused", text, retryable=False, entered=entered))
    name = interrupt_id(node_id, state.nodes[node_id].interrupts + 1)
    asked = Draft("interrupt.requested", payload_of(interrupt), node_id, interrupt_id=name)
    suspended = Draft("node.suspended", suspension(node_id, name, interrupt), node_id, interrupt_id=name)
    return Decision((asked, *when_asked(node_id, name, interrupt), suspended))


def _pass(state: RunState, given: InterruptPassed) -> Decision:
    """int-19 (RFC 0094 E): what passes at once is asked and resolved in one commit, once per key."""
    node_id, interrupt = given.node_id, given.interrupt
    stale = interrupt.key in state.answers or state.stop is not None
    if stale or not _is_running(state, node_id, given.entered):
        return NOTHING
    if (text := misplaced(state, interrupt)) is not None:
        return _failed(state, NodeFailed(node_id, "node_misused", text, retryable=False, entered=given.entered))
    name = interrupt_id(node_id, state.nodes[node_id].interrupts + 1)
    asked = Draft("interrupt.requested", payload_of(interrupt), node_id, interrupt_id=name)
    payload = {"nodeId": node_id, "interruptId": name, "kind": interrupt.kind, "resumeValue": given.value}
    resolved = Draft("interrupt.resolved", payload, node_id, interrupt_id=name)
    return Decision((asked, *when_passed(state, node_id, name, interrupt, given.value), resolved))


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
    return Draft("run.started", payload)


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
    if state.answered:
        # A host that goes away begins nothing more.
        return _resumed(state, state.answered[0][1]) if bounds.parallel else NOTHING
    if state.failing:
        node_id = state.failing[0][1]
        return Decision((_ending("node.failed", node_id, error=state.nodes[node_id].error),))
    if state.doomed:
        return Decision(tuple(_skip(state, node_id) for _, node_id in state.doomed))
    if state.ready:
        busy = len(state.running) + len(state.retrying)
        return _start(state, bounds, state.ready[0][1]) if busy < bounds.parallel else NOTHING
    if state.running or state.retrying or state.suspended:
        return NOTHING
    return Decision((_stuck(state) if state.stuck else _finished(state),))


def _resumed(state: RunState, node_id: str) -> Decision:
    """int-05 (OpenWOP interrupt): the node goes on with its answer, as the same attempt."""
    name = interrupt_id(node_id, state.nodes[node_id].interrupts)
    resumed = Draft("node.resumed", {"nodeId": node_id, "interruptId": name}, node_id, interrupt_id=name)
    return Decision((resumed,), start=node_id)


def _stuck(state: RunState) -> Draft:
    """lim-09 (OpenWOP workflow-definition, readings, Determinism): a loop that cannot go on fails the run as a failed
    node does, when all else is done; so it is the same loop and the same rest, whichever was faster."""
    number, failure = min(state.stuck.items(), key=lambda each: each[0])
    if failure is not None:
        return Draft("run.failed", {"error": failure})
    limit = state.plan.workflow.max_loopbacks
    node_id = state.plan.loops[number].target
    return _ending("workflow.loopback-limit", node_id, iterations=state.rounds.get(number, 0) + 1, limit=limit)


def _skip(state: RunState, node_id: str) -> Draft:
    reason = "disabled" if state.plan.nodes[node_id].node.disabled else "trigger-rule"
    return _ending("node.skipped", node_id, reason=reason)


def _retry(state: RunState, bounds: Bounds, node_id: str, attempt: int) -> Decision:
    idle = state.status == "paused" or state.pausing is not None or state.stop is not None or not bounds.parallel
    node = state.retrying.get(node_id)
    return NOTHING if idle or node is None or node.attempt != attempt else _start(state, bounds, node_id)


def _start(state: RunState, bounds: Bounds, node_id: str) -> Decision:
    if state.executions >= bounds.executions:
        # lim-03 (OpenWOP capabilities, limits): found before the node starts, so at most `limit` nodes ever start.
        return Decision((_breach("node-executions", bounds.executions, state.executions + 1, node_id),))
    declaration = state.plan.nodes[node_id].node.declaration
    if declaration.requires and (missing := missing_capabilities(declaration.requires, bounds.provided)):
        message = f"The node needs the runtime capability {missing[0]}, which this host does not provide."
        failure = error("capability_not_provided", message, {"capability": missing[0]})
        return Decision((_ending("node.failed", node_id, error=failure),))
    attempt = state.nodes[node_id].attempt + 1
    payload = {"nodeId": node_id, "typeId": declaration.type_id, "attempt": attempt}
    return Decision((Draft("node.started", payload, node_id),), start=node_id)


def _again(state: RunState, bounds: Bounds, node_id: str, entered: int) -> Decision:
    """node-14 (readings, Recovery): an attempt that is executed again is the next one, and says so."""
    if state.stop is not None or not _is_running(state, node_id, entered):
        return NOTHING
    if state.running[node_id].crashes >= MAX_CRASHES:
        failure = error("node_crashed", f"The host ended {MAX_CRASHES + 1} times while this node ran.")
        return Decision((_ending("node.failed", node_id, error=failure, attempts=state.running[node_id].attempt),))
    return _start(state, bounds, node_id)


def _reason(reason: str | None) -> dict[str, Any]:
    return {"reason": reason} if reason else {}


def _stopped(state: RunState) -> tuple[Draft, ...]:
    """What still waited is cancelled along with the run."""
    waiting = sorted((*state.suspended, *state.retrying), key=lambda node_id: state.plan.nodes[node_id].index)
    cancelled = tuple(_ending("node.cancelled", node_id) for node_id in waiting)
    stop = state.stop
    if stop is not None and stop.error is not None:
        return (*cancelled, Draft("run.failed", {"error": stop.error}))
    return (*cancelled, Draft("run.cancelled", _reason(stop.reason if stop else None)))


def _finished(state: RunState) -> Draft:
    """run-04 (readings, Data flow): failed by the first failure nobody handles, else completed with outputs."""
    nodes = state.plan.nodes
    for _, node_id in state.failures:
        targets = [nodes[edge.target] for edge in nodes[node_id].outgoing]
        if not any(target.rule in HANDLES_FAILURE and not target.node.disabled for target in targets):
            return Draft("run.failed", {"error": state.nodes[node_id].error, "failedNodeId": node_id})
    return Draft("run.completed", {"outputs": run_outputs(state)})


def run_outputs(state: RunState) -> dict[str, Any]:
    """data-02 (readings, Data flow): outputs by node id of the primary nodes, else of the sinks."""
    primary = [node_id for node_id in state.plan.order if state.plan.nodes[node_id].node.primary]
    chosen = primary or state.plan.sinks
    return {
        node_id: state.nodes[node_id].outputs
        for node_id in chosen
        if node_id in state.nodes and state.nodes[node_id].status == "completed"
    }
