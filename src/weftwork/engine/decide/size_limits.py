"""Decides what follows when the events of an input would exceed a size limit of the run. Pure.

The state belongs to nodes: the node whose values would exceed the limit fails. The log belongs to the run: the run
fails. Requests that end a run or stop its work are always allowed, and each of them adds little to the log. A person's
answer may use the reserve, which the nodes of a run cannot use; without room in the reserve the answer is refused.
"""

from typing import Final

import msgspec

from weftwork.engine.decide import inputs
from weftwork.engine.decide.decision import NOTHING, Decision, is_running
from weftwork.engine.decide.inputs import Input
from weftwork.engine.decide.transitions import fail_node
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.limits import STATE_TOO_LARGE
from weftwork.protocol.run import payloads
from weftwork.protocol.run.events import Draft
from weftwork.protocol.run.size_errors import SizeError, limit_error, refusal

_ALLOWED: Final = (
    inputs.CancelRequested,
    inputs.PauseRequested,
    inputs.ResumeRequested,
    inputs.NodeStopped,
    inputs.InterruptTimedOut,
    inputs.ReminderDue,
    inputs.RunTimedOut,
    inputs.AwaitTimedOut,
    inputs.HostFailed,
)
"""Inputs whose events are always allowed: they end the run or wait of a node, or their number is limited."""
_NODE_ENDS: Final = (inputs.NodeCompleted, inputs.NodeFailed, inputs.NodeSuspended, inputs.NodeAwaitsProvider)


class Breach(msgspec.Struct, frozen=True):
    """A limit that the events of a decision would exceed."""

    code: str
    limit: int
    observed: int
    within_reserve: bool = False
    """Whether the events fit if they may use the reserve."""

    @property
    def error(self) -> SizeError:
        return limit_error(self.code, self.limit, self.observed)


def decide_breach(state: RunState, input_: Input, breach: Breach) -> Decision | None:
    """size-01, size-02, size-03 (host): the decision instead of one that would exceed a limit; None if the events are
    allowed nevertheless."""
    if isinstance(input_, _ALLOWED) or (isinstance(input_, inputs.Step) and state.stop is not None):
        return None
    if isinstance(input_, inputs.AnswerReceived | inputs.VariablesOverwritten):
        if breach.within_reserve:
            return None
        return Decision(refusal=refusal(state.status, breach.error))
    if state.stop is not None:
        # The run is ending: the node has ended, and its values are dropped.
        if isinstance(input_, _NODE_ENDS) and is_running(state, input_.node_id, input_.entry_sequence):
            return Decision((Draft.of(payloads.NodeCancelled(input_.node_id), input_.node_id),))
        return NOTHING
    if breach.code == STATE_TOO_LARGE and (failed := _fail_node_of(state, input_, breach)) is not None:
        return failed
    if state.started_at is None:
        return Decision((Draft.of(payloads.RunFailed(breach.error.document)),))
    return Decision((Draft.of(payloads.LimitBreached(breach.error.document)),))


def too_large_outcome(outcome: inputs.NodeCompleted, limit: int, observed: int) -> inputs.NodeFailed:
    """size-01 (host): the failure of a node whose outcome is dropped before the run processes it."""
    return _failure(outcome.node_id, outcome.entry_sequence, limit_error(STATE_TOO_LARGE, limit, observed))


def _fail_node_of(state: RunState, input_: Input, breach: Breach) -> Decision | None:
    """The failure of the node that this input is about; None if it is about no active node."""
    node_id: str = getattr(input_, "node_id", "")
    if not is_running(state, node_id, -1):
        return None
    failed = _failure(node_id, state.active_nodes[node_id].entry_sequence, breach.error)
    return msgspec.structs.replace(fail_node(state, failed), drops_stale=True)


def _failure(node_id: str, entered: int, error: SizeError) -> inputs.NodeFailed:
    details = msgspec.to_builtins(error.details)
    return inputs.NodeFailed(node_id, error.code, error.message, details, retryable=False, entry_sequence=entered)
