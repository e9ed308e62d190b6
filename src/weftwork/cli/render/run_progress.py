"""The state of a run and of its nodes, put together from events and, where it is known, the definition.

Works with the events of any host: unknown types change nothing. Texts are kept as they came; nothing is printed here.
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
    """What is known of one node."""

    def __init__(self, node_id: str) -> None:
        self.node_id = node_id
        self.state = "pending"
        self.type_id = ""
        self.attempt = 1
        self.round = 1
        """How often loops came here, this time included."""
        self.started: float | None = None
        self.ended: float | None = None
        """Both in milliseconds by the clock of the host."""
        self.retry_at: float | None = None
        """When the next attempt begins, by the same clock."""
        self.items = 0
        self.error: dict[str, Any] = {}
        self.interrupt: dict[str, Any] | None = None
        """The open question, if it waits for an answer: kind, key, data and what else was said of it."""
        self.children: dict[str, TreeRun] = {}
        """Runs that it started."""
        self.model_text = ""
        """The end of what a model writes."""

    @property
    def waits_for_children(self) -> bool:
        """Whether it waits for runs that all wait for somebody."""
        still = [child for child in self.children.values() if not child.is_terminal]
        return bool(still) and all(child.is_waiting for child in still)


MAX_LOG_LINES: Final = 500
"""Log lines that are kept."""
INTERRUPT_EVENTS: Final = ("interrupt.requested", "node.suspended", "approval.requested", "clarification.requested")
"""Events after which somebody may have to answer."""
_TERMINAL_STATES: Final = ("completed", "failed", "skipped", "cancelled")
_INTERRUPT_FIELDS: Final = ("kind", "key", "data", "resumeSchema", "interruptId", "timeoutMs")


class RunProgress:
    """The nodes of a run, with the run's own status and its log lines.

    Nodes that are expected stand first, in the order of the graph; the others in the order in which they began.
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
        """Where the nodes that are expected stand."""
        self.log_lines: deque[tuple[str, str, str, dict[str, Any]]] = deque(maxlen=MAX_LOG_LINES)
        """Level, node, message and fields."""
        self.dropped_lines = 0
        self.started: float | None = None
        self.last_event_at: float | None = None
        """The time of the newest event, by the clock of the host."""
        self.sequence = -1
        self.reported_tree: TreeRun | None = None
        """The runs below it, as the host told of them last."""

    def apply_snapshot(self, snapshot: Any) -> None:
        """What a snapshot says of the run before its events are there."""
        if not is_object(snapshot):
            return
        self.workflow_id = as_text(snapshot.get("workflowId"))
        self.status = as_text(snapshot.get("status")) or self.status

    def set_outline(self, places: "Sequence[OutlineRow]") -> None:
        """The nodes of the definition, before any event is there."""
        for place in places:
            self.outline[place.node_id] = place
            self.nodes.setdefault(place.node_id, NodeProgress(place.node_id)).type_id = place.type_id

    @property
    def waiting_nodes(self) -> list[NodeProgress]:
        return [row for row in self.nodes.values() if row.interrupt is not None and row.state == "suspended"]

    @property
    def has_waiting_child(self) -> bool:
        """Whether the host says that it waits because a run that it has started does."""
        return self.status == "running" and any(child.is_waiting for child in self.children)

    @property
    def waits_for_children(self) -> bool:
        """Whether all that goes on waits for runs that wait for somebody."""
        waits = [row.waits_for_children for row in self.nodes.values() if row.state in ACTIVE_STATES]
        return bool(waits) and all(waits)

    @property
    def is_blocked(self) -> bool:
        """Whether it goes on only after somebody answers or resumes it."""
        if any(row.state in ACTIVE_STATES for row in self.nodes.values()):
            return self.waits_for_children
        return bool(self.waiting_nodes) or self.status == "paused"

    @property
    def children(self) -> list[TreeRun]:
        """The runs that its nodes have started."""
        return [child for row in self.nodes.values() for child in row.children.values()]

    def child_of(self, frame: ReceivedFrame) -> TreeRun | None:
        """The run that an event tells of, if it is one of its children."""
        run_id = as_object(as_object(frame.data).get("payload")).get("childRunId")
        if frame.event_type not in CHILD_EVENTS:
            return None
        found = (row.children.get(run_id) for row in self.nodes.values() if isinstance(run_id, str))
        return next((child for child in found if child is not None), None)

    def update_children(self, snapshot: Any) -> None:
        """What a snapshot says of its children."""
        update_statuses(self.children, snapshot)

    @property
    def run_tree(self) -> TreeRun:
        """The run with those below it, as far as they are known."""
        return merge_reported_tree(
            TreeRun(self.run_id, self.workflow_id, self.status), self.children, self.reported_tree
        )

    def apply(self, frame: ReceivedFrame) -> None:
        """Take in an event."""
        document = frame.data
        if not is_object(document):
            return
        when = parse_time(document.get("timestamp"))
        if when is not None:
            self.last_event_at = when.timestamp() * 1000
        if frame.sequence is not None:
            self.sequence = max(self.sequence, frame.sequence)
        known = as_object(document.get("payload"))
        node_id = document.get("nodeId") or known.get("nodeId")
        if _apply_run_event(self, frame.event_type, as_text(node_id), known) or not isinstance(node_id, str):
            return
        row = self.nodes.get(node_id) or NodeProgress(node_id)
        of_child = CHILD_EVENTS.get(frame.event_type)
        if _apply_node_event(self, row, frame.event_type, known) or of_child is not None:
            self.nodes[node_id] = row
        if of_child is not None:
            of_child(row.children, node_id, known, document)


def _apply_run_event(tree: RunProgress, kind: str, node_id: str, payload: dict[str, Any]) -> bool:
    """False for an event that tells nothing of the run itself."""
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
    """False for an event that changes nothing about a node."""
    match kind:
        case "node.started":
            _start_node(tree, row, payload)
        case "node.completed" | "node.cancelled" | "node.failed":
            _end_node(tree, row, kind.removeprefix("node."))
            row.error = _error(payload.get("error")) if kind == "node.failed" else row.error
        case "node.skipped":
            # A loop that is over leaves its body out in the end; what the body did before is worth more.
            if row.started is None:
                _end_node(tree, row, "skipped")
        case "node.retried":
            _retry_node(tree, row, payload)
        case "node.suspended" | "interrupt.requested":
            _request_interrupt(tree, row, payload)
        case "approval.requested" | "clarification.requested":
            # Hosts may tell of a question with a type of its own as well, or with that alone.
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
        case _:
            return False
    return True


def _start_node(tree: RunProgress, row: NodeProgress, payload: dict[str, Any]) -> None:
    attempt = payload.get("attempt")
    again = attempt if isinstance(attempt, int) else 1
    if row.state in _TERMINAL_STATES and again <= 1:
        row.round += 1
        row.items = 0
    row.attempt = again
    row.type_id = as_text(payload.get("typeId")) or row.type_id
    if again <= 1 or row.started is None:
        row.started = tree.last_event_at
    row.state, row.ended, row.error, row.model_text = "running", None, {}, ""


def _end_node(tree: RunProgress, row: NodeProgress, state: str) -> None:
    row.state, row.ended, row.interrupt = state, tree.last_event_at, None


def _retry_node(tree: RunProgress, row: NodeProgress, payload: dict[str, Any]) -> None:
    row.state = "retrying"
    row.error = _error(payload.get("lastError")) or row.error
    attempt = payload.get("attempt")
    row.attempt = attempt if isinstance(attempt, int) else row.attempt + 1
    delay = payload.get("delayMs")
    row.retry_at = (
        tree.last_event_at + delay if tree.last_event_at is not None and isinstance(delay, int | float) else None
    )


def _request_interrupt(tree: RunProgress, row: NodeProgress, payload: dict[str, Any]) -> None:
    told = {name: payload[name] for name in _INTERRUPT_FIELDS if name in payload}
    if isinstance(limit := told.get("timeoutMs"), int) and tree.last_event_at is not None:
        told["dueAt"] = add_milliseconds(tree.last_event_at, limit)
    before = row.interrupt or {}
    # Another key is another question, of which nothing is known yet.
    same = "key" not in told or before.get("key", told["key"]) == told["key"]
    row.interrupt = {**before, **told} if same else told
    row.state = "suspended"


def _error(value: Any) -> dict[str, Any]:
    return value if is_object(value) else {"message": value} if isinstance(value, str) else {}
