"""Runs that one run has started, and those below them: as a host tells of them, or as events of the run do.

Nothing here is shown; texts are kept as they came.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from weftwork.cli.client.http_client import segment
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.run.header import TERMINAL_STATUSES


def tree_path(run_id: str) -> str:
    """Where a weftwork host tells of the runs below a run."""
    return f"/v1/host/weftwork/runs/{segment(run_id)}/tree"


class Kin:
    """What is known of one run of a tree."""

    def __init__(self, run_id: str, workflow_id: str = "", status: str = "", node_id: str = "") -> None:
        self.run_id = run_id
        self.workflow_id = workflow_id
        self.status = status
        self.node_id = node_id
        """Of its parent, which started it."""
        self.at = ""
        """The node where it waits, or the code of its error."""
        self.is_awaited = False
        """Whether its parent is known to wait for it."""
        self.asked: dict[str, Any] | None = None
        """What it asks, where that is known: its node, kind, data and what else was said of it."""
        self.began: Any = None
        self.ended: Any = None
        """Both as the host wrote them."""
        self.children: list[Kin] = []

    @property
    def is_over(self) -> bool:
        return self.status in TERMINAL_STATUSES

    @property
    def is_waiting(self) -> bool:
        return self.status.startswith("waiting-")

    @property
    def standing(self) -> tuple[str, str]:
        """How it stands, for those who look for changes."""
        return self.status, self.at

    def all(self) -> "Iterator[Kin]":
        """This run and all below it, each before its children."""
        rest: list[Kin] = [self]
        while rest:
            each = rest.pop()
            yield each
            rest += reversed(each.children)


def read_tree(document: Any) -> Kin | None:
    """The tree of runs in the answer of a host; None if it is none. Runs without a parent in it stand below the top."""
    found = document.get("runs") if is_object(document) else None
    rows = [each for each in found if is_object(each)] if is_array(found) else []
    if not rows:
        return None
    top, *rest = rows
    known = {_text(top, "runId"): _read(top)}
    first = known[_text(top, "runId")]
    for row in rest:
        run = _read(row)
        # A parent stands before its children, so nothing here can go round in a circle.
        known.get(_text(row, "parentRunId"), first).children.append(run)
        known.setdefault(run.run_id, run)
    return first


def _read(row: dict[str, Any]) -> Kin:
    run = Kin(_text(row, "runId"), _text(row, "workflowId"), _text(row, "status"), _text(row, "parentNodeId"))
    run.began, run.ended = row.get("startedAt", row.get("createdAt")), row.get("completedAt")
    error = row.get("error")
    if is_object(error):
        run.at = _text(error, "code")
    elif run.is_waiting:
        run.at = _text(row, "currentNodeId")
    return run


def merged(top: Kin, children: Sequence[Kin], told: Kin | None) -> Kin:
    """The tree by what the host told of it, and by what events have told of its children since."""
    if told is not None:
        top.began, top.ended = told.began, told.ended
    known = {run.run_id: run for run in told.children} if told is not None else {}
    for child in children:
        found = known.setdefault(child.run_id, child)
        if child.is_over:
            # An end is final, whoever tells of it first.
            found.status, found.at, found.ended = child.status, child.at, child.ended
    top.children = list(known.values())
    return top


def _started(children: dict[str, Kin], node_id: str, payload: dict[str, Any], event: dict[str, Any]) -> None:
    run_id = _text(payload, "childRunId")
    name = _text(payload, "workflowId") or _text(payload, "childWorkflowId")
    if run_id:
        child = children.setdefault(run_id, Kin(run_id, name, "", node_id))
        child.began = child.began or event.get("timestamp")
        child.status = _text(payload, "childStatus") or child.status
        child.is_awaited = child.is_awaited or payload.get("awaited") is True


def _changed(children: dict[str, Kin], node_id: str, payload: dict[str, Any], event: dict[str, Any]) -> None:
    run_id = _text(payload, "childRunId")
    if not run_id:
        return
    child = children.setdefault(run_id, Kin(run_id, "", "", node_id))
    child.status = _text(payload, "status") or child.status
    if child.is_over:
        error = payload.get("error")
        child.at, child.ended = _text(error, "code") if is_object(error) else "", event.get("timestamp")


KIN_EVENTS: Final[dict[str, Callable[[dict[str, Kin], str, dict[str, Any], dict[str, Any]], None]]] = {
    "weftwork.child.started": _started,
    "weftwork.child.status": _changed,
    "weftwork.child.ended": _changed,
    "node.dispatched": _started,
}
"""What an event of a run changes among the children of a node."""


def learn(children: Sequence[Kin], document: Any) -> None:
    """What the run's snapshot or tree says of its children: of some, no event tells how they ended."""
    known = {child.run_id: child for child in children}
    found = document.get("childRuns", document.get("runs")) if is_object(document) else None
    for row in found if is_array(found) else ():
        if is_object(row) and (child := known.get(_text(row, "runId"))) is not None and not child.is_over:
            child.status = _text(row, "status") or child.status


def askers(top: Kin) -> list[Kin]:
    """The runs that ask something themselves: those that wait, and none below them does."""
    return [run for run in top.all() if run.is_waiting and not any(child.is_waiting for child in run.children)]


def told_of(runs: Sequence[Kin]) -> str:
    """How many child runs there are, and how they stand."""
    return f"{len(runs)} child {'run' if len(runs) == 1 else 'runs'}: {counted(runs)}"


def counted(runs: Iterable[Kin]) -> str:
    """How they stand, the most of them first: `3 completed, 1 failed`."""
    counts: dict[str, int] = {}
    for run in runs:
        counts[run.status or "started"] = counts.get(run.status or "started", 0) + 1
    ordered = sorted(counts.items(), key=lambda each: -each[1])
    return ", ".join(f"{number} {status}" for status, number in ordered)


def _text(row: dict[str, Any], member: str) -> str:
    value = row.get(member)
    return value if isinstance(value, str) else ""


ASKERS: Final = 5
"""Runs below of which it is told what they ask."""
