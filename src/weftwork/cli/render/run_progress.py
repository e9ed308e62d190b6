"""The progress of a run and of its nodes, built from events and, if available, the definition.

Accepts the events of any host and ignores unknown types. Texts are kept as the host sent them; nothing is printed.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from weftwork.cli.client.event_stream import ReceivedFrame
from weftwork.cli.client.run_tree import CHILD_EVENTS, TreeRun, merge_reported_tree, update_statuses
from weftwork.cli.console.documents import as_object, as_text
from weftwork.cli.console.units import add_milliseconds, parse_time
from weftwork.cli.render.run_tree_lines import OutlineRow
from weftwork.protocol.json.values import is_object

ACTIVE_STATES: Final = ("running", "retrying")


class NodeProgress:
    """The progress of one node."""

    def __init__(self, node_id: str) -> None:
        self.node_id = node_id
        self.state = "pending"
        self.type_id = ""
        self.attempt = 1
        self.round = 1
        """The number of times that the node has started in a loop."""
        self.started: float | None = None
        self.ended: float | None = None
        """Both in milliseconds since 1970, by the host's clock."""
        self.retry_at: float | None = None
        """When the next attempt starts, by the same clock."""
        self.provider_wait: dict[str, Any] = {}
        """The payload of the event with which the node began to wait for a model provider; empty if it does not."""
        self.items = 0
        self.failed_items = 0
        """Ended items of a map, and how many of them failed."""
        self.error: dict[str, Any] = {}
        self.interrupt: dict[str, Any] | None = None
        """The open interrupt, with the members that events have: kind, key, data and others."""
        self.children: dict[str, TreeRun] = {}
        """The child runs that the node has started, by run id."""
        self.model_text = ""
        """The last characters of the text that a model is writing."""

    @property
    def waits_for_children(self) -> bool:
        """Whether all active child runs of the node wait for an answer."""
        active = [child for child in self.children.values() if not child.is_terminal]
        return bool(active) and all(child.is_waiting for child in active)


MAX_LOG_LINES: Final = 500
"""Maximum number of log lines that are stored."""
INTERRUPT_EVENTS: Final = ("interrupt.requested", "node.suspended", "approval.requested", "clarification.requested")
"""Events after which a node may have an open interrupt."""
_TERMINAL_STATES: Final = ("completed", "failed", "skipped", "cancelled")
_INTERRUPT_FIELDS: Final = ("kind", "key", "data", "resumeSchema", "interruptId", "timeoutMs")


class RunProgress:
    """The status of a run, its nodes and its log lines.

    The nodes of the definition come first, in graph order; other nodes follow in the order of their first event.
    """

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.workflow_id = ""
        self.status = "pending"
        self.error: dict[str, Any] = {}
        self.outputs: Any = None
        self.reason = ""
        self.nodes: dict[str, NodeProgress] = {}
        self.outline: dict[str, OutlineRow] = {}
        """The outline rows of the definition's nodes, by node id."""
        self.log_lines: deque[tuple[str, str, str, dict[str, Any]]] = deque(maxlen=MAX_LOG_LINES)
        """Level, node, message and fields."""
        self.dropped_lines = 0
        self.started: float | None = None
        self.last_event_at: float | None = None
        """The time of the newest event, by the host's clock."""
        self.sequence = -1
        self.reported_tree: TreeRun | None = None
        """The latest run tree from the host."""

    def apply_snapshot(self, snapshot: Any) -> None:
        """Take the workflow and the status from a snapshot."""
        if not is_object(snapshot):
            return
        self.workflow_id = as_text(snapshot.get("workflowId"))
        self.status = as_text(snapshot.get("status")) or self.status

    def set_outline(self, rows: "Sequence[OutlineRow]") -> None:
        """Add the nodes of the definition."""
        for row in rows:
            self.outline[row.node_id] = row
            self.nodes.setdefault(row.node_id, NodeProgress(row.node_id)).type_id = row.type_id

    @property
    def waiting_nodes(self) -> list[NodeProgress]:
        return [row for row in self.nodes.values() if row.interrupt is not None and row.state == "suspended"]

    @property
    def has_waiting_child(self) -> bool:
        """Whether a child of the running run waits for an answer."""
        return self.status == "running" and any(child.is_waiting for child in self.children)

    @property
    def waits_for_children(self) -> bool:
        """Whether every active node waits for child runs that wait for an answer."""
        waits = [row.waits_for_children for row in self.nodes.values() if row.state in ACTIVE_STATES]
        return bool(waits) and all(waits)

    @property
    def is_blocked(self) -> bool:
        """Whether the run cannot progress before an answer or a resume."""
        if any(row.state in ACTIVE_STATES for row in self.nodes.values()):
            return self.waits_for_children
        return bool(self.waiting_nodes) or self.status == "paused"

    @property
    def children(self) -> list[TreeRun]:
        """The child runs of all nodes."""
        return [child for row in self.nodes.values() for child in row.children.values()]

    def child_of(self, frame: ReceivedFrame) -> TreeRun | None:
        """The child run that an event is about; None for other events."""
        run_id = as_object(as_object(frame.data).get("payload")).get("childRunId")
        if frame.event_type not in CHILD_EVENTS:
            return None
        matches = (row.children.get(run_id) for row in self.nodes.values() if isinstance(run_id, str))
        return next((child for child in matches if child is not None), None)

    def update_children(self, snapshot: Any) -> None:
        """Update the statuses of the children from a snapshot."""
        update_statuses(self.children, snapshot)

    @property
    def run_tree(self) -> TreeRun:
        """The run with its known descendants."""
        return merge_reported_tree(
            TreeRun(self.run_id, self.workflow_id, self.status), self.children, self.reported_tree
        )

    def apply(self, frame: ReceivedFrame) -> None:
        document = frame.data
        if not is_object(document):
            return
        timestamp = parse_time(document.get("timestamp"))
        if timestamp is not None:
            self.last_event_at = timestamp.timestamp() * 1000
        if frame.sequence is not None:
            self.sequence = max(self.sequence, frame.sequence)
        payload = as_object(document.get("payload"))
        node_id = document.get("nodeId") or payload.get("nodeId")
        if _apply_run_event(self, frame.event_type, as_text(node_id), payload) or not isinstance(node_id, str):
            return
        row = self.nodes.get(node_id) or NodeProgress(node_id)
        apply_child_event = CHILD_EVENTS.get(frame.event_type)
        if _apply_node_event(self, row, frame.event_type, payload) or apply_child_event is not None:
            self.nodes[node_id] = row
        if apply_child_event is not None:
            apply_child_event(row.children, node_id, payload, document)


def _apply_run_event(tree: RunProgress, kind: str, node_id: str, payload: dict[str, Any]) -> bool:
    """Apply an event about the run itself; False for other events."""
    match kind:
        case "run.started":
            tree.status, tree.started = "running", tree.last_event_at
            tree.workflow_id = as_text(payload.get("workflowId")) or tree.workflow_id
        case "run.completed":
            tree.status, tree.outputs = "completed", payload.get("outputs")
        case "run.failed":
            tree.status, tree.error = "failed", _error(payload.get("error"))
        case "run.cancelled":
            tree.status, tree.reason = "cancelled", as_text(payload.get("reason"))
            for row in tree.nodes.values():
                row.interrupt = None
        case "run.paused":
            tree.status = "paused"
            for row in tree.nodes.values():
                if row.state in ACTIVE_STATES:
                    row.state = "pending"
        case "run.resumed":
            tree.status = "running"
        case "weftwork.run.cancel-requested":
            tree.status = "cancelling"
        case "log.appended":
            if isinstance(message := payload.get("message"), str):
                tree.dropped_lines += len(tree.log_lines) == MAX_LOG_LINES
                fields = as_object(payload.get("fields"))
                tree.log_lines.append((as_text(payload.get("level")), node_id, message, fields))
        case _:
            return False
    return True


def _apply_node_event(tree: RunProgress, row: NodeProgress, kind: str, payload: dict[str, Any]) -> bool:
    """Apply an event to a node; False for an event that changes nothing."""
    match kind:
        case "node.started":
            _start_node(tree, row, payload)
        case "node.completed" | "node.cancelled" | "node.failed":
            _end_node(tree, row, kind.removeprefix("node."))
            row.error = _error(payload.get("error")) if kind == "node.failed" else row.error
        case "weftwork.provider.waiting":
            row.provider_wait = payload
        case "weftwork.provider.retried":
            row.provider_wait = {}
        case "node.skipped":
            # The body of a finished loop is skipped at the end; keep the result of its last round.
            if row.started is None:
                _end_node(tree, row, "skipped")
        case "node.retried":
            _retry_node(tree, row, payload)
        case "node.suspended" | "interrupt.requested":
            _request_interrupt(tree, row, payload)
        case "approval.requested" | "clarification.requested":
            # A host may send this event in addition to interrupt.requested, or instead of it.
            row.interrupt = {"kind": kind.removesuffix(".requested"), "data": payload, **(row.interrupt or {})}
            row.state = "suspended"
        case "interrupt.resolved" | "node.resumed" | "approval.received" | "clarification.resolved":
            row.interrupt = None
            row.state = "running" if row.state == "suspended" else row.state
        case "approval.granted":
            if row.interrupt is not None:
                row.interrupt = {**row.interrupt, "progress": payload.get("quorumProgress")}
        case "output.chunk":
            row.model_text = (row.model_text + as_text(payload.get("chunk")))[-200:]
        case "weftwork.map.item":
            row.items += 1
            row.failed_items += "error" in payload
        case _:
            return False
    return True


def _start_node(tree: RunProgress, row: NodeProgress, payload: dict[str, Any]) -> None:
    attempt = payload.get("attempt")
    attempt_number = attempt if isinstance(attempt, int) else 1
    if row.state in _TERMINAL_STATES and attempt_number <= 1:
        row.round += 1
        row.items = row.failed_items = 0
    row.attempt = attempt_number
    row.type_id = as_text(payload.get("typeId")) or row.type_id
    if attempt_number <= 1 or row.started is None:
        row.started = tree.last_event_at
    row.state, row.ended, row.error, row.model_text, row.provider_wait = "running", None, {}, "", {}


def _end_node(tree: RunProgress, row: NodeProgress, state: str) -> None:
    row.state, row.ended, row.interrupt, row.provider_wait = state, tree.last_event_at, None, {}


def _retry_node(tree: RunProgress, row: NodeProgress, payload: dict[str, Any]) -> None:
    row.state, row.provider_wait = "retrying", {}
    row.error = _error(payload.get("lastError")) or row.error
    attempt = payload.get("attempt")
    row.attempt = attempt if isinstance(attempt, int) else row.attempt + 1
    delay = payload.get("delayMs")
    row.retry_at = (
        tree.last_event_at + delay if tree.last_event_at is not None and isinstance(delay, int | float) else None
    )


def _request_interrupt(tree: RunProgress, row: NodeProgress, payload: dict[str, Any]) -> None:
    members = {name: payload[name] for name in _INTERRUPT_FIELDS if name in payload}
    if isinstance(limit := members.get("timeoutMs"), int) and tree.last_event_at is not None:
        members["dueAt"] = add_milliseconds(tree.last_event_at, limit)
    before = row.interrupt or {}
    # Another key is a new interrupt, so nothing of the previous one applies.
    same = "key" not in members or before.get("key", members["key"]) == members["key"]
    row.interrupt = {**before, **members} if same else members
    row.state = "suspended"


def _error(value: Any) -> dict[str, Any]:
    return value if is_object(value) else {"message": value} if isinstance(value, str) else {}
