"""How a run stands, put together from its events, and its definition where that is known: any host's, whatever it adds.

Nothing here is shown; texts are kept as they came. Events of unknown types change nothing.

One node of a run, as far as its events tell. Texts are kept as they came.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from weftwork.cli.client.run_tree import CHILD_EVENTS, TreeRun, merge_reported_tree, update_statuses
from weftwork.cli.client.sse import ReceivedFrame
from weftwork.cli.console.units import instant, later
from weftwork.protocol.json.values import is_object

if TYPE_CHECKING:
    from weftwork.cli.render.outline import Place


ACTIVE: Final = ("running", "retrying")


class NodeRow:
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
        self.due: float | None = None
        """When the next attempt begins, by the same clock."""
        self.items = 0
        self.error: dict[str, Any] = {}
        self.interrupt: dict[str, Any] | None = None
        """The open question, if it waits for an answer: kind, key, data and what else was said of it."""
        self.children: dict[str, TreeRun] = {}
        """Runs that it started."""
        self.text = ""
        """The end of what a model writes."""

    @property
    def waits_below(self) -> bool:
        """Whether it waits for runs that all wait for somebody."""
        still = [child for child in self.children.values() if not child.is_terminal]
        return bool(still) and all(child.is_waiting for child in still)


MAX_LINES: Final = 500
"""Log lines that are kept."""
QUESTIONS: Final = ("interrupt.requested", "node.suspended", "approval.requested", "clarification.requested")
"""Events after which somebody may have to answer."""
_ENDED: Final = ("completed", "failed", "skipped", "cancelled")
_QUESTION: Final = ("kind", "key", "data", "resumeSchema", "interruptId", "timeoutMs")


class RunTree:
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
        self.nodes: dict[str, NodeRow] = {}
        self.places: dict[str, Place] = {}
        """Where the nodes that are expected stand."""
        self.lines: deque[tuple[str, str, str, dict[str, Any]]] = deque(maxlen=MAX_LINES)
        """Level, node, message and fields."""
        self.dropped = 0
        self.started: float | None = None
        self.last: float | None = None
        """The time of the newest event, by the clock of the host."""
        self.sequence = -1
        self.told: TreeRun | None = None
        """The runs below it, as the host told of them last."""

    def seed(self, snapshot: Any) -> None:
        """What a snapshot says of the run before its events are there."""
        if not is_object(snapshot):
            return
        self.workflow_id = _text(snapshot.get("workflowId"))
        self.status = _text(snapshot.get("status")) or self.status

    def expect(self, places: "Sequence[Place]") -> None:
        """The nodes of the definition, before any event is there."""
        for place in places:
            self.places[place.node_id] = place
            self.nodes.setdefault(place.node_id, NodeRow(place.node_id)).type_id = place.type_id

    @property
    def waiting(self) -> list[NodeRow]:
        return [row for row in self.nodes.values() if row.interrupt is not None and row.state == "suspended"]

    @property
    def has_waiting_child(self) -> bool:
        """Whether the host says that it waits because a run that it has started does."""
        return self.status == "running" and any(child.is_waiting for child in self.children)

    @property
    def waits_below(self) -> bool:
        """Whether all that goes on waits for runs that wait for somebody."""
        waits = [row.waits_below for row in self.nodes.values() if row.state in ACTIVE]
        return bool(waits) and all(waits)

    @property
    def stands_still(self) -> bool:
        """Whether it goes on only after somebody answers or resumes it."""
        if any(row.state in ACTIVE for row in self.nodes.values()):
            return self.waits_below
        return bool(self.waiting) or self.status == "paused"

    @property
    def children(self) -> list[TreeRun]:
        """The runs that its nodes have started."""
        return [child for row in self.nodes.values() for child in row.children.values()]

    def child_of(self, frame: ReceivedFrame) -> TreeRun | None:
        """The run that an event tells of, if it is one of its children."""
        payload = frame.data.get("payload") if frame.event_type in CHILD_EVENTS and is_object(frame.data) else None
        run_id = payload.get("childRunId") if is_object(payload) else None
        found = (row.children.get(run_id) for row in self.nodes.values() if isinstance(run_id, str))
        return next((child for child in found if child is not None), None)

    def learn(self, snapshot: Any) -> None:
        """What a snapshot says of its children."""
        update_statuses(self.children, snapshot)

    @property
    def kin(self) -> TreeRun:
        """The run with those below it, as far as they are known."""
        return merge_reported_tree(TreeRun(self.run_id, self.workflow_id, self.status), self.children, self.told)

    def apply(self, frame: ReceivedFrame) -> None:
        """Take in an event."""
        document = frame.data
        if not is_object(document):
            return
        when = instant(document.get("timestamp"))
        if when is not None:
            self.last = when.timestamp() * 1000
        if frame.sequence is not None:
            self.sequence = max(self.sequence, frame.sequence)
        payload = document.get("payload")
        known = payload if is_object(payload) else {}
        if (of_run := _OF_RUN.get(frame.event_type)) is not None:
            of_run(self, known)
            return
        node_id = document.get("nodeId") or known.get("nodeId")
        change = _OF_NODE.get(frame.event_type)
        if change is not None and isinstance(node_id, str):
            change(self, self.nodes.setdefault(node_id, NodeRow(node_id)), known)
        if (of_child := CHILD_EVENTS.get(frame.event_type)) is not None and isinstance(node_id, str):
            of_child(self.nodes.setdefault(node_id, NodeRow(node_id)).children, node_id, known, document)
        if frame.event_type == "log.appended":
            _log(self, _text(node_id), known)


def _log(tree: RunTree, node_id: str, payload: dict[str, Any]) -> None:
    message, fields = payload.get("message"), payload.get("fields")
    if isinstance(message, str):
        tree.dropped += len(tree.lines) == MAX_LINES
        tree.lines.append((_text(payload.get("level")), node_id, message, fields if is_object(fields) else {}))


def _run_started(tree: RunTree, payload: dict[str, Any]) -> None:
    tree.status, tree.started = "running", tree.last
    tree.workflow_id = _text(payload.get("workflowId")) or tree.workflow_id


def _run_completed(tree: RunTree, payload: dict[str, Any]) -> None:
    tree.status, tree.outputs = "completed", payload.get("outputs")


def _run_failed(tree: RunTree, payload: dict[str, Any]) -> None:
    tree.status, tree.error = "failed", _error(payload.get("error"))


def _run_cancelled(tree: RunTree, payload: dict[str, Any]) -> None:
    tree.status, tree.reason = "cancelled", _text(payload.get("reason"))
    for row in tree.nodes.values():
        row.interrupt = None


def _run_paused(tree: RunTree, payload: dict[str, Any]) -> None:
    tree.status = "paused"
    for row in tree.nodes.values():
        if row.state in ACTIVE:
            row.state = "pending"


def _run_resumed(tree: RunTree, payload: dict[str, Any]) -> None:
    tree.status = "running"


def _run_cancelling(tree: RunTree, payload: dict[str, Any]) -> None:
    tree.status = "cancelling"


def _started(tree: RunTree, row: NodeRow, payload: dict[str, Any]) -> None:
    attempt = payload.get("attempt")
    again = attempt if isinstance(attempt, int) else 1
    if row.state in _ENDED and again <= 1:
        row.round += 1
        row.items = 0
    row.attempt = again
    row.type_id = _text(payload.get("typeId")) or row.type_id
    if again <= 1 or row.started is None:
        row.started = tree.last
    row.state, row.ended, row.error, row.text = "running", None, {}, ""


def _completed(tree: RunTree, row: NodeRow, payload: dict[str, Any]) -> None:
    _over(tree, row, "completed")


def _failed(tree: RunTree, row: NodeRow, payload: dict[str, Any]) -> None:
    _over(tree, row, "failed")
    row.error = _error(payload.get("error"))


def _skipped(tree: RunTree, row: NodeRow, payload: dict[str, Any]) -> None:
    # A loop that is over leaves its body out in the end; what the body did before is worth more.
    if row.started is None:
        _over(tree, row, "skipped")


def _cancelled(tree: RunTree, row: NodeRow, payload: dict[str, Any]) -> None:
    _over(tree, row, "cancelled")


def _over(tree: RunTree, row: NodeRow, state: str) -> None:
    row.state, row.ended, row.interrupt = state, tree.last, None


def _retried(tree: RunTree, row: NodeRow, payload: dict[str, Any]) -> None:
    row.state = "retrying"
    row.error = _error(payload.get("lastError")) or row.error
    attempt = payload.get("attempt")
    row.attempt = attempt if isinstance(attempt, int) else row.attempt + 1
    delay = payload.get("delayMs")
    row.due = tree.last + delay if tree.last is not None and isinstance(delay, int | float) else None


def _asks(tree: RunTree, row: NodeRow, payload: dict[str, Any]) -> None:
    told = {name: payload[name] for name in _QUESTION if name in payload}
    if isinstance(limit := told.get("timeoutMs"), int) and tree.last is not None:
        told["dueAt"] = later(tree.last, limit)
    before = row.interrupt or {}
    # Another key is another question, of which nothing is known yet.
    same = "key" not in told or before.get("key", told["key"]) == told["key"]
    row.interrupt = {**before, **told} if same else told
    row.state = "suspended"


def _answered(tree: RunTree, row: NodeRow, payload: dict[str, Any]) -> None:
    row.interrupt = None
    if row.state == "suspended":
        row.state = "running"


def _granted(tree: RunTree, row: NodeRow, payload: dict[str, Any]) -> None:
    if row.interrupt is not None:
        row.interrupt = {**row.interrupt, "progress": payload.get("quorumProgress")}


def _item(tree: RunTree, row: NodeRow, payload: dict[str, Any]) -> None:
    row.items += 1


def _chunk(tree: RunTree, row: NodeRow, payload: dict[str, Any]) -> None:
    row.text = (row.text + _text(payload.get("chunk")))[-200:]


def _asks_for(kind: str) -> "Callable[[RunTree, NodeRow, dict[str, Any]], None]":
    """Hosts may tell of a question with a type of its own as well, or with that alone."""

    def asks(tree: RunTree, row: NodeRow, payload: dict[str, Any]) -> None:
        row.interrupt = {"kind": kind, "data": payload, **(row.interrupt or {})}
        row.state = "suspended"

    return asks


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _error(value: Any) -> dict[str, Any]:
    return value if is_object(value) else {"message": value} if isinstance(value, str) else {}


_OF_RUN: Final[dict[str, Callable[[RunTree, dict[str, Any]], None]]] = {
    "run.started": _run_started,
    "run.completed": _run_completed,
    "run.failed": _run_failed,
    "run.cancelled": _run_cancelled,
    "run.paused": _run_paused,
    "run.resumed": _run_resumed,
    "weftwork.run.cancel-requested": _run_cancelling,
}
_OF_NODE: Final[dict[str, Callable[[RunTree, NodeRow, dict[str, Any]], None]]] = {
    "node.started": _started,
    "node.completed": _completed,
    "node.failed": _failed,
    "node.skipped": _skipped,
    "node.cancelled": _cancelled,
    "node.retried": _retried,
    "node.suspended": _asks,
    "interrupt.requested": _asks,
    "interrupt.resolved": _answered,
    "node.resumed": _answered,
    "approval.requested": _asks_for("approval"),
    "approval.received": _answered,
    "approval.granted": _granted,
    "clarification.requested": _asks_for("clarification"),
    "clarification.resolved": _answered,
    "output.chunk": _chunk,
    "weftwork.map.item": _item,
}
