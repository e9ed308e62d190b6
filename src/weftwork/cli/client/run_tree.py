"""Runs that one run has started, and those below them: as a host tells of them, or as events of the run do.

Nothing here is shown; texts are kept as they came.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from weftwork.cli.console.documents import as_object, as_text, objects
from weftwork.cli.console.units import count_of
from weftwork.protocol.json.values import is_object
from weftwork.protocol.run.header import TERMINAL_STATUSES
from weftwork.protocol.wire.v1.paths import path_for


def run_tree_path(run_id: str) -> str:
    """Where a weftwork host tells of the runs below a run."""
    return path_for("getRunTree", runId=run_id)


class TreeRun(msgspec.Struct, eq=False):
    """What is known of one run of a tree."""

    run_id: str
    workflow_id: str = ""
    status: str = ""
    node_id: str = ""
    """Of its parent, which started it."""
    detail: str = ""
    """The node where it waits, or the code of its error."""
    is_awaited: bool = False
    """Whether its parent is known to wait for it."""
    interrupt: dict[str, Any] | None = None
    """What it asks, where that is known: its node, kind, data and what else was said of it."""
    started_at: Any = None
    ended_at: Any = None
    """Both as the host wrote them."""
    children: "list[TreeRun]" = []

    @property
    def is_terminal(self) -> bool:
        return self.status in TERMINAL_STATUSES

    @property
    def is_waiting(self) -> bool:
        return self.status.startswith("waiting-")

    @property
    def status_key(self) -> tuple[str, str]:
        """How it stands, for those who look for changes."""
        return self.status, self.detail

    def walk(self) -> "Iterator[TreeRun]":
        """This run and all below it, each before its children."""
        rest: list[TreeRun] = [self]
        while rest:
            each = rest.pop()
            yield each
            rest += reversed(each.children)


def read_tree(document: Any) -> TreeRun | None:
    """The tree of runs in the answer of a host; None if it is none. Runs without a parent in it stand below the top."""
    rows = objects(as_object(document).get("runs"))
    if not rows:
        return None
    top, *rest = rows
    known = {_text(top, "runId"): _read_run(top)}
    first = known[_text(top, "runId")]
    for row in rest:
        run = _read_run(row)
        # A parent stands before its children, so nothing here can go round in a circle.
        known.get(_text(row, "parentRunId"), first).children.append(run)
        known.setdefault(run.run_id, run)
    return first


def _read_run(row: dict[str, Any]) -> TreeRun:
    run = TreeRun(_text(row, "runId"), _text(row, "workflowId"), _text(row, "status"), _text(row, "parentNodeId"))
    run.started_at, run.ended_at = row.get("startedAt", row.get("createdAt")), row.get("completedAt")
    error = row.get("error")
    if is_object(error):
        run.detail = _text(error, "code")
    elif run.is_waiting:
        run.detail = _text(row, "currentNodeId")
    return run


def merge_reported_tree(top: TreeRun, children: Sequence[TreeRun], told: TreeRun | None) -> TreeRun:
    """The tree by what the host told of it, and by what events have told of its children since."""
    if told is not None:
        top.started_at, top.ended_at = told.started_at, told.ended_at
    known = {run.run_id: run for run in told.children} if told is not None else {}
    for child in children:
        found = known.setdefault(child.run_id, child)
        if child.is_terminal:
            # An end is final, whoever tells of it first.
            found.status, found.detail, found.ended_at = child.status, child.detail, child.ended_at
    top.children = list(known.values())
    return top


def _apply_started(children: dict[str, TreeRun], node_id: str, payload: dict[str, Any], event: dict[str, Any]) -> None:
    run_id = _text(payload, "childRunId")
    name = _text(payload, "workflowId") or _text(payload, "childWorkflowId")
    if run_id:
        child = children.setdefault(run_id, TreeRun(run_id, name, "", node_id))
        child.started_at = child.started_at or event.get("timestamp")
        child.status = _text(payload, "childStatus") or child.status
        child.is_awaited = child.is_awaited or payload.get("awaited") is True


def _apply_status(children: dict[str, TreeRun], node_id: str, payload: dict[str, Any], event: dict[str, Any]) -> None:
    run_id = _text(payload, "childRunId")
    if not run_id:
        return
    child = children.setdefault(run_id, TreeRun(run_id, "", "", node_id))
    child.status = _text(payload, "status") or child.status
    if child.is_terminal:
        child.detail, child.ended_at = _text(as_object(payload.get("error")), "code"), event.get("timestamp")


CHILD_EVENTS: Final[dict[str, Callable[[dict[str, TreeRun], str, dict[str, Any], dict[str, Any]], None]]] = {
    "weftwork.child.started": _apply_started,
    "weftwork.child.status": _apply_status,
    "weftwork.child.ended": _apply_status,
    "node.dispatched": _apply_started,
}
"""What an event of a run changes among the children of a node."""


def update_statuses(children: Sequence[TreeRun], document: Any) -> None:
    """What the run's snapshot or tree says of its children: of some, no event tells how they ended."""
    known = {child.run_id: child for child in children}
    told = as_object(document)
    for row in objects(told.get("childRuns", told.get("runs"))):
        if (child := known.get(_text(row, "runId"))) is not None and not child.is_terminal:
            child.status = _text(row, "status") or child.status


def find_waiting_runs(top: TreeRun) -> list[TreeRun]:
    """The runs that ask something themselves: those that wait, and none below them does."""
    return [run for run in top.walk() if run.is_waiting and not any(child.is_waiting for child in run.children)]


def describe_children(runs: Sequence[TreeRun]) -> str:
    """How many child runs there are, and how they stand."""
    return f"{count_of(len(runs), 'child run')}: {format_status_counts(runs)}"


def format_status_counts(runs: Iterable[TreeRun]) -> str:
    """How they stand, the most of them first: `3 completed, 1 failed`."""
    counts = Counter(run.status or "started" for run in runs)
    return ", ".join(f"{number} {status}" for status, number in counts.most_common())


def _text(row: dict[str, Any], member: str) -> str:
    return as_text(row.get(member))


MAX_LISTED_INTERRUPTS: Final = 5
"""Runs below of which it is told what they ask."""
