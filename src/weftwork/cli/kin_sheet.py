"""The child runs on the sheet of a run: all of them counted, and a few of each kind, those that need somebody first."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from weftwork.cli.kin import Kin, counted, learn
from weftwork.cli.plain import shown
from weftwork.cli.question import word
from weftwork.cli.table import aligned
from weftwork.protocol.json_value import is_array, is_object

_ALIKE: Final = 3
"""Runs of one workflow and one status that are shown; of those that failed or wait, more."""
_MATTER: Final = 10
_LINES: Final = 30
_INDENT: Final = "  "


def child_lines(run: dict[str, Any], past: Sequence[Kin]) -> Iterator[str]:
    """Of the snapshot's children, and of those that only events tell of: a snapshot names the first ones."""
    told = _told(run)
    learn(past, run)
    found = list({each.run_id: each for each in (*told, *past)}.values())
    if not found:
        return
    more = run.get("childRunsTruncated") is True and len(found) == len(told)
    status = shown(counted(found), 200)
    yield ""
    yield f"child runs, the first {len(found)} of more: {status}" if more else f"child runs: {status}"
    rows = list(_picked(found))
    yield from aligned([_row(each) for each in rows], _INDENT)
    if more or len(found) > len(rows):
        rest = "" if more else f"and {len(found) - len(rows)} more; "
        yield f"{_INDENT}{rest}`weftwork runs ls --parent {word(str(run.get('runId', 'RUN')))} --all` lists all"


def _told(run: dict[str, Any]) -> list[Kin]:
    listed = run.get("childRuns")
    rows = [each if is_object(each) else {} for each in listed] if is_array(listed) else []
    texts = ([str(row.get(name, "")) for name in ("runId", "workflowId", "status", "nodeId")] for row in rows)
    return [Kin(run_id or "?", workflow_id, status, node_id) for run_id, workflow_id, status, node_id in texts]


def _picked(runs: Sequence[Kin]) -> Iterator[Kin]:
    """A few of each kind. What failed stands first, then what waits, what goes on, and what is over."""
    seen: dict[tuple[str, str], int] = {}
    count = 0
    for run in sorted(runs, key=_rank):
        kind = (run.workflow_id, run.status)
        seen[kind] = seen.get(kind, 0) + 1
        if count < _LINES and seen[kind] <= (_MATTER if _rank(run) < 2 else _ALIKE):
            count += 1
            yield run


def _rank(run: Kin) -> int:
    if run.status == "failed" or run.is_waiting:
        return 0 if run.status == "failed" else 1
    return 3 if run.is_over else 2


def _row(run: Kin) -> list[str]:
    known = (
        run.run_id,
        run.status or "started",
        run.workflow_id,
        run.node_id,
        run.at if run.status == "failed" else "",
    )
    return [shown(each, 60) for each in known]
