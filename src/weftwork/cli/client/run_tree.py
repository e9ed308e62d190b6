"""The tree of a run and its descendants, built from the host's run tree or from the run's events.

Nothing here is printed; texts are kept as the host sent them.
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
    """The path at which a weftwork host returns a run and its descendants."""
    return path_for("getRunTree", runId=run_id)


class TreeRun(msgspec.Struct, eq=False):
    """One run of a tree. A member is empty if the host has not reported it."""

    run_id: str
    workflow_id: str = ""
    status: str = ""
    node_id: str = ""
    """The node of the parent run that started this run."""
    detail: str = ""
    """The node at which the run waits, or the code of its error."""
    is_awaited: bool = False
    """Whether the parent is known to wait for this run."""
    interrupt: dict[str, Any] | None = None
    """The open interrupt of the run, as the host sent it."""
    started_at: Any = None
    ended_at: Any = None
    """Both timestamps as the host sent them."""
    children: "list[TreeRun]" = []
    forks: "list[TreeRun]" = []
    """Runs that were forked from this run. They are not part of it: it neither waits for them nor is waiting with
    them."""
    fork: str = ""
    """Of a fork: its mode and the sequence from which it differs from the run above it."""

    @property
    def is_terminal(self) -> bool:
        return self.status in TERMINAL_STATUSES

    @property
    def is_waiting(self) -> bool:
        return self.status.startswith("waiting-")

    @property
    def status_key(self) -> tuple[str, str]:
        """The part that is compared to detect a change of status."""
        return self.status, self.detail

    def walk(self, with_forks: bool = False) -> "Iterator[TreeRun]":
        """This run and its descendants, each before its children, and these before its forks."""
        rest: list[TreeRun] = [self]
        while rest:
            each = rest.pop()
            yield each
            rest += reversed([*each.children, *each.forks] if with_forks else each.children)


def read_tree(document: Any) -> TreeRun | None:
    """The tree of runs in a host's response; None if the response has no runs.

    A run whose parent is not in the response becomes a child of the root.
    """
    rows = objects(as_object(document).get("runs"))
    if not rows:
        return None
    top, *rest = rows
    runs_by_id = {_text(top, "runId"): _read_run(top)}
    root = runs_by_id[_text(top, "runId")]
    for row in rest:
        run = _read_run(row)
        # A run is listed before its children and forks, so the tree cannot contain a cycle.
        source = runs_by_id.get(_text(as_object(row.get("forkedFrom")), "runId"))
        if source is not None and "parentRunId" not in row:
            source.forks.append(run)
        else:
            runs_by_id.get(_text(row, "parentRunId"), root).children.append(run)
        runs_by_id.setdefault(run.run_id, run)
    return root


def _read_run(row: dict[str, Any]) -> TreeRun:
    run = TreeRun(_text(row, "runId"), _text(row, "workflowId"), _text(row, "status"), _text(row, "parentNodeId"))
    run.started_at, run.ended_at = row.get("startedAt", row.get("createdAt")), row.get("completedAt")
    run.fork = fork_text(row.get("forkedFrom"))
    error = row.get("error")
    if is_object(error):
        run.detail = _text(error, "code")
    elif run.is_waiting:
        run.detail = _text(row, "currentNodeId")
    return run


def fork_text(forked_from: Any) -> str:
    """The mode of a fork and the sequence from which it differs, from the member `forkedFrom` of a host's response;
    empty if the run is not a fork."""
    if not is_object(forked_from):
        return ""
    start = forked_from.get("fromSeq")
    mode = _text(forked_from, "mode") or "fork"
    return f"{mode} from {start}" if isinstance(start, int) else mode


def merge_reported_tree(top: TreeRun, children: Sequence[TreeRun], reported: TreeRun | None) -> TreeRun:
    """The tree that the host reported, updated with what later events say about the children."""
    if reported is not None:
        top.started_at, top.ended_at = reported.started_at, reported.ended_at
    runs_by_id = {run.run_id: run for run in reported.children} if reported is not None else {}
    for child in children:
        run = runs_by_id.setdefault(child.run_id, child)
        if child.is_terminal:
            # A terminal status is final, so it wins over an older report.
            run.status, run.detail, run.ended_at = child.status, child.detail, child.ended_at
    top.children = list(runs_by_id.values())
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
"""The handler of each event type that changes a node's child runs."""


def update_statuses(children: Sequence[TreeRun], document: Any) -> None:
    """Update the children from the run's snapshot or tree. Some children end without an event in the parent's log."""
    children_by_id = {child.run_id: child for child in children}
    response = as_object(document)
    for row in objects(response.get("childRuns", response.get("runs"))):
        if (child := children_by_id.get(_text(row, "runId"))) is not None and not child.is_terminal:
            child.status = _text(row, "status") or child.status


def find_waiting_runs(top: TreeRun) -> list[TreeRun]:
    """The waiting runs without a waiting child: those that have the open interrupts themselves."""
    return [run for run in top.walk() if run.is_waiting and not any(child.is_waiting for child in run.children)]


def describe_children(runs: Sequence[TreeRun]) -> str:
    """The number of child runs, with counts by status."""
    return f"{count_of(len(runs), 'child run')}: {format_status_counts(runs)}"


def format_status_counts(runs: Iterable[TreeRun]) -> str:
    """Counts by status, the most frequent first: `3 completed, 1 failed`."""
    counts = Counter(run.status or "started" for run in runs)
    return ", ".join(f"{number} {status}" for status, number in counts.most_common())


def _text(row: dict[str, Any], member: str) -> str:
    return as_text(row.get(member))


MAX_LISTED_INTERRUPTS: Final = 5
"""Child runs whose open interrupt is printed."""
