"""Fork points: where a retry begins, and what a fork point within the outcome of a node means.

A retry is a branch from before the failure of a run. It keeps everything before the failure, also what the failed node
has recorded: its steps and answers are used again. A retry from an earlier node drops what happened since that node
started.

The outcome of a node is several events, which one decision of the engine has made: what the node writes, then its end.
A fork point between them leaves a node that has written and still runs. It runs again in the branch and writes again.
Therefore what the prefix has of its outcome must not count. The same is true of an answer and the events that follow
from it: the branch asks again.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.run import events
from weftwork.protocol.run.events import ORCHESTRATOR_DECIDED, WORKFLOW_CHAIN, Event, is_author_event_type
from weftwork.protocol.run.header import TERMINAL_STATUSES
from weftwork.protocol.spelling import did_you_mean

STOP_TYPES: Final = frozenset(
    {"cap.breached", events.LIMIT_BREACHED, events.CANCEL_REQUESTED, "workflow.loopback-limit", "node.cancelled"}
)
"""Events after which a run only ends. A run of which nothing is executed is cancelled at once, and has no request."""
ANSWER_TYPES: Final = frozenset(
    {"interrupt.resolved", "approval.received", "approval.rejected", "approval.overridden", "clarification.resolved"}
)
"""Events about the answer of an interrupt, or that it was not answered in time."""
ANSWER_CODES: Final = frozenset({"interrupt_rejected", "interrupt_timeout"})
"""Failures of a node because of an answer. The answer is part of the failure, so the question is asked again."""
MAX_NAMED_EFFECTS: Final = 20


_READ_TYPES: Final = frozenset(
    {
        "run.failed",
        "node.failed",
        "interrupt.resolved",
        events.EFFECT_CLAIMED,
        events.CHILD_STARTED,
        events.CHILD_ENDED,
    }
)
"""The types of events whose payload decides about a fork point."""


class LogEntry(msgspec.Struct, frozen=True):
    """The parts of an event that decide about a fork point."""

    sequence: int
    type: str
    node_id: str | None
    """Of `run.failed`, the node that failed the run."""
    step: str = ""
    """Of an effect."""
    code: str = ""
    """Of a failure of a node."""
    child_run_id: str = ""
    """Of the start and the end of a child run."""
    is_awaited: bool = False
    """Of the start of a child run."""
    child_status: str = ""
    """Of the end of a child run."""
    is_answered: bool = False
    """Of the end of an interrupt: it was answered, and did not time out."""


def log_entry(event: Event) -> LogEntry:
    """An event as the search for a fork point reads it."""
    if event.type not in _READ_TYPES:
        return LogEntry(event.sequence, event.type, event.node_id)
    payload: dict[str, Any] = msgspec.json.decode(event.payload)
    if event.type == "node.failed":
        return LogEntry(event.sequence, event.type, event.node_id, code=payload["error"]["code"])
    if event.type == "run.failed":
        return LogEntry(event.sequence, event.type, payload.get("failedNodeId"))
    if event.type == "interrupt.resolved":
        return LogEntry(event.sequence, event.type, event.node_id, is_answered="resolvedBy" in payload)
    if event.type == events.CHILD_STARTED:
        child, awaited = payload["childRunId"], payload["awaited"]
        return LogEntry(event.sequence, event.type, event.node_id, child_run_id=child, is_awaited=awaited)
    if event.type == events.CHILD_ENDED:
        child, status = payload["childRunId"], payload["status"]
        return LogEntry(event.sequence, event.type, event.node_id, child_run_id=child, child_status=status)
    return LogEntry(event.sequence, event.type, event.node_id, payload.get("step", ""))


class RetryPoint(msgspec.Struct, frozen=True):
    from_seq: int
    node_id: str | None
    """The node whose recorded failures are forgotten."""
    repeated: tuple[tuple[str, str], ...] = ()
    """Effects after the fork point, as node and step. They would happen again."""
    restarted: tuple[tuple[str, str], ...] = ()
    """Child runs that the retry starts again from their beginning, as node and run id."""


class ChildEffect(msgspec.Struct, frozen=True):
    """An effect of a child run that a retry starts again, or a child run whose log cannot be searched for effects."""

    node_id: str
    """The node of the retried run that started the child, or an ancestor of it."""
    child_run_id: str
    step: str = ""


class RetrySearch:
    """retry-02 (host): finds the fork point of a retry in one pass over the log. `from_node`: the node to start from,
    instead of the one that failed."""

    def __init__(self, from_node: str | None = None) -> None:
        self._from_node = from_node
        self._started: dict[str, int] = {}
        self._failed: dict[str, int] = {}
        self._answered: dict[str, int] = {}
        """The first event about the latest answer of a node."""
        self._effects: list[tuple[int, str, str]] = []
        self._children: dict[str, tuple[LogEntry, LogEntry | None]] = {}
        """The start and the end of each child run."""
        self._stopped: int | None = None
        self._failed_node: str | None = None
        self._ended: int | None = None

    def add(self, entry: LogEntry) -> None:
        """The next event of the log."""
        node_id, kind = entry.node_id or "", entry.type
        if kind == "node.started":
            self._started[node_id] = entry.sequence
            self._answered.pop(node_id, None)
        elif kind == "node.failed":
            answered = self._answered.pop(node_id, entry.sequence)
            self._failed[node_id] = answered if entry.code in ANSWER_CODES else entry.sequence
        elif kind == "interrupt.requested":
            self._answered.pop(node_id, None)
        elif kind in ANSWER_TYPES:
            self._answered.setdefault(node_id, entry.sequence)
        elif kind == events.EFFECT_CLAIMED:
            self._effects.append((entry.sequence, node_id, entry.step))
        elif kind == events.CHILD_STARTED:
            self._children[entry.child_run_id] = (entry, None)
        elif kind == events.CHILD_ENDED and entry.child_run_id in self._children:
            self._children[entry.child_run_id] = (self._children[entry.child_run_id][0], entry)
        elif kind in STOP_TYPES and self._stopped is None:
            self._stopped = entry.sequence
        elif kind in events.TERMINAL_TYPES:
            self._ended, self._failed_node = entry.sequence, entry.node_id

    def point(self, status: str) -> RetryPoint:
        """The fork point. Raises ClientFault if the run has not failed or was not cancelled, or if the node is
        unknown."""
        if self._from_node is not None:
            if self._from_node not in self._started:
                hint = did_you_mean(self._from_node, list(self._started)) or "."
                raise invalid(f"No node with this id has started in the run{hint}", "/fromNodeId")
            return self._at(self._started[self._from_node], None)
        if status not in TERMINAL_STATUSES or status == "completed" or self._ended is None:
            message = "Only a failed or cancelled run can be retried; to run a part of it again, name a node."
            raise ClientFault("conflict", message, {"runStatus": status})
        node_id = self._failed_node
        if self._stopped is not None:
            return self._at(self._stopped, node_id)
        if node_id is not None and node_id in self._failed:
            return self._at(self._failed[node_id], node_id)
        return self._at(self._ended, node_id)

    def _at(self, sequence: int, node_id: str | None) -> RetryPoint:
        repeated = dict.fromkeys((node, step) for at, node, step in self._effects if at >= sequence)
        restarted = [
            (start.node_id or "", child)
            for child, (start, end) in self._children.items()
            if _is_restarted(sequence, node_id, start, end)
        ]
        return RetryPoint(sequence, node_id, tuple(repeated), tuple(restarted))


def _is_restarted(from_seq: int, failed_node: str | None, start: LogEntry, end: LogEntry | None) -> bool:
    """retry-03 (host): whether a retry starts a child run again: one of after the fork point, one that is awaited and
    had not ended there, or a failed one of the failed node."""
    if start.sequence >= from_seq:
        return True
    if not start.is_awaited:
        return False
    if end is None or end.sequence >= from_seq:
        return True
    return end.child_status != "completed" and start.node_id == failed_node


def refuse_repeated_effects(point: RetryPoint, of_children: Sequence[ChildEffect] = ()) -> ClientFault:
    """retry-03 (host): effects that would happen again are named, and the caller has to confirm them. `of_children`:
    those of child runs that would be started again."""
    named: list[dict[str, Any]] = [
        {"nodeId": node_id, "step": step} if step else {"nodeId": node_id} for node_id, step in point.repeated
    ]
    for each in of_children:
        step = {"step": each.step} if each.step else {}
        named.append({"nodeId": each.node_id, "childRunId": each.child_run_id, **step})
    count = "an effect" if len(named) == 1 else f"{len(named)} effects"
    message = (
        f"The retry would repeat {count} that happened after the fork point or in a child run that it starts again. "
        "Send repeatEffects: true if that is allowed."
    )
    return ClientFault("conflict", message, {"repeatedEffects": named[:MAX_NAMED_EFFECTS]})


def retry_scope(run_id: str) -> str:
    """retry-04 (host): the scope of all retries of a run. The store creates a retry only if no run of its scope is
    unfinished, so that of concurrent requests one makes a retry. A scope that a caller has given to a run is another
    one, unless the caller wants it to be the same."""
    return f"weftwork.retry:{run_id}"


def refuse_second_retry(run_id: str, retry_id: str) -> ClientFault:
    """retry-04 (host): the unfinished retry is named, and the caller has to allow another one."""
    message = (
        f"The run {retry_id} retries the run {run_id} and has not ended. Follow it or cancel it, or send "
        "allowConcurrent: true if both may do the same work."
    )
    return ClientFault("conflict", message, {"retryRunId": retry_id})


OUTCOME_TYPES: Final = frozenset(
    """
    variable.changed channel.written artifact.created log.appended interrupt.requested approval.requested
    clarification.requested conversation.opened conversation.exchanged conversation.closed
    node.dispatched agent.decided agent.handoff
    """.split()
) | {ORCHESTRATOR_DECIDED, WORKFLOW_CHAIN}
"""The types of events that an outcome of a node has before its end."""


VOTE_TYPES: Final = frozenset({"approval.granted", "approval.rejected", "approval.overridden"})
"""Events of an answer to an approval, before the end of the interrupt that it may decide."""
CONSEQUENCE_TYPES: Final = frozenset({"conversation.exchanged", "approval.received", "clarification.resolved"})
"""Events of an answer, after the end of its interrupt."""


def is_outcome_part(entry: LogEntry, following: LogEntry) -> bool:
    """Whether an event may belong to the same outcome, or to the same answer, as the one after it."""
    if entry.node_id is None or entry.node_id != following.node_id or following.type == "node.resumed":
        # A node resumes after a whole answer.
        return False
    if entry.type == "interrupt.resolved":
        return following.type in CONSEQUENCE_TYPES
    if entry.type in VOTE_TYPES:
        return following.is_answered
    return entry.type in OUTCOME_TYPES or is_author_event_type(entry.type)


def cut_outcome(before: Iterable[LogEntry], following: LogEntry) -> tuple[Sequence[int], bool]:
    """fork-07 (host): of the events before the fork point, latest first, the sequences of those that belong to the
    outcome which `following`, the event at the fork point, continues. The second value tells that the outcome begins
    within `before`, so that no earlier event belongs to it."""
    found: list[int] = []
    for entry in before:
        if not is_outcome_part(entry, following):
            return found, True
        found.append(entry.sequence)
        following = entry
    return found, False
