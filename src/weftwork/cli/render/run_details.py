"""The snapshot of a run for people, with its child runs: all of them counted, and a few of each status.

Reads what any host may send, so nothing in it is taken for granted.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from weftwork.cli.client.run_tree import TreeRun, format_status_counts, update_statuses
from weftwork.cli.console.documents import as_list, as_object
from weftwork.cli.console.table import align
from weftwork.cli.console.text import MAX_LENGTH, clean
from weftwork.cli.console.units import format_elapsed, format_time
from weftwork.cli.render.interrupt_text import answer_command, curl_lines, describe_interrupt, quote_id, status_lines
from weftwork.protocol.json.values import is_object

_MAX_PER_STATUS: Final = 3
"""Runs of one workflow and one status that are shown; of those that failed or wait, more."""
_MAX_URGENT: Final = 10
_MAX_CHILDREN: Final = 30
_CHILD_INDENT: Final = "  "


def child_lines(run: dict[str, Any], past: Sequence[TreeRun]) -> Iterator[str]:
    """Of the snapshot's children, and of those that only events tell of: a snapshot names the first ones."""
    told: list[TreeRun] = []
    for row in map(as_object, as_list(run.get("childRuns"))):
        run_id, name, status, node_id = (str(row.get(each, "")) for each in ("runId", "workflowId", "status", "nodeId"))
        told.append(TreeRun(run_id or "?", name, status, node_id))
    update_statuses(past, run)
    found = list({each.run_id: each for each in (*told, *past)}.values())
    if not found:
        return
    more = run.get("childRunsTruncated") is True and len(found) == len(told)
    status = clean(format_status_counts(found), 200)
    yield ""
    yield f"child runs, the first {len(found)} of more: {status}" if more else f"child runs: {status}"
    chosen = list(_select_children(found))
    yield from align(map(_child_row, chosen), _CHILD_INDENT)
    if more or len(found) > len(chosen):
        rest = "" if more else f"and {len(found) - len(chosen)} more; "
        parent = quote_id(str(run.get("runId", "RUN")))
        yield f"{_CHILD_INDENT}{rest}`weftwork runs ls --parent {parent} --all` lists all"


def _select_children(runs: Sequence[TreeRun]) -> Iterator[TreeRun]:
    """A few of each kind. What failed stands first, then what waits, what goes on, and what is over."""
    seen: Counter[tuple[str, str]] = Counter()
    count = 0
    for run in sorted(runs, key=_rank):
        seen[run.workflow_id, run.status] += 1
        most = _MAX_URGENT if _rank(run) < 2 else _MAX_PER_STATUS
        if count < _MAX_CHILDREN and seen[run.workflow_id, run.status] <= most:
            count += 1
            yield run


def _rank(run: TreeRun) -> int:
    if run.status == "failed" or run.is_waiting:
        return 0 if run.status == "failed" else 1
    return 3 if run.is_terminal else 2


def _child_row(run: TreeRun) -> list[str]:
    why = run.detail if run.status == "failed" else ""
    return [clean(each, 60) for each in (run.run_id, run.status or "started", run.workflow_id, run.node_id, why)]


_MAX_VALUE: Final = 100
"""Characters of one value that are shown."""
_MAX_ROWS: Final = 50
"""Lines of one part; the rest is counted."""
_TERMINAL_STATUSES: Final = ("completed", "failed", "cancelled")
_ADVICE: Final = {
    "run_timeout": "Give such runs more time: configurable.runTimeoutMs of a run, or settings.timeout of its workflow.",
    "recursion_limit_exceeded": "Look for a loop that does not end, or raise configurable.recursionLimit.",
    "loop_limit_exceeded": "Look at what ends the loop, or raise the limit that the error names.",
    "node_timeout": "Give the node more time or more attempts in its settings.",
    "node_input_missing": "Give the run the input that the node needs, or the node a value of its own.",
    "variable_type_mismatch": "Make the variable's type and the values that nodes write into it agree.",
    "capability_not_provided": "Run the workflow on a host that provides what the node needs.",
    "host_invariant_broken": "Tell whoever runs the host; its log says more.",
}


def run_detail_lines(
    run: dict[str, Any],
    times: Mapping[str, str],
    url: str,
    questions: Mapping[str, dict[str, Any]],
    children: Sequence[TreeRun] = (),
) -> Iterator[str]:
    """Line by line: how the run stands, what it asks or why it failed, its nodes, and what it holds.

    `times` says of some nodes how long they took, `questions` more of what they ask than the snapshot does, and
    `children` of runs that it has started.
    """
    yield from align(_head(run))
    for each in _open_interrupts(run)[:_MAX_ROWS]:
        yield ""
        yield from _interrupt_lines(run, as_object(each), url, questions)
    yield from child_lines(run, children)
    for title, rows in _sections(run, times):
        if rows:
            yield ""
            yield title
            yield from align(rows[:_MAX_ROWS], _CHILD_INDENT)
            if len(rows) > _MAX_ROWS:
                yield f"{_CHILD_INDENT}and {len(rows) - _MAX_ROWS} more; --json shows all"


def _head(run: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, member in (("run", "runId"), ("workflow", "workflowId"), ("status", "status")):
        yield name, clean(run.get(member, "?"))
    created, started, ended = (run.get(member) for member in ("createdAt", "startedAt", "completedAt"))
    if format_time(created) != format_time(started):
        yield "created", f"{format_time(created)} UTC"
    yield from time_rows(started, ended)
    for name, member in (("at node", "currentNodeId"), ("child of", "parentRunId")):
        if run.get(member):
            yield name, clean(run[member])
    if tags := as_list(run.get("tags")):
        yield "tags", clean(", ".join(map(str, tags)), _MAX_VALUE)
    yield from error_rows(run.get("error"))
    yield from (("next", advice) for advice in _next_steps(run))


def time_rows(started: Any, ended: Any) -> Iterator[tuple[str, str]]:
    """When a run started and ended, as far as that is known."""
    if format_time(started):
        yield "started", f"{format_time(started)} UTC"
    if format_time(ended):
        took = format_elapsed(started, ended)
        yield "ended", f"{format_time(ended)} UTC" + (f", took {took}" if took else "")


def error_rows(error: Any, most: int = MAX_LENGTH) -> Iterator[tuple[str, str]]:
    """Why a run failed; at most so many characters of the code."""
    if is_object(error):
        yield "error", f"{clean(error.get('code', '?'), most)}: {clean(error.get('message', ''))}"
        if is_object(error.get("details")) and error["details"]:
            yield "details", clean(error["details"])


def _next_steps(run: dict[str, Any]) -> Iterator[str]:
    """What somebody who looks at this run may want to do."""
    run_id, status, error = clean(run.get("runId", "RUN")), str(run.get("status", "")), run.get("error")
    if is_object(error) and str(error.get("code")) in _ADVICE:
        yield _ADVICE[str(error["code"])]
    if status == "paused":
        yield f"`weftwork runs resume {run_id}` lets it go on."
    elif status.startswith("waiting-") and _open_interrupts(run):
        yield f"It goes on once somebody has answered: `weftwork answer {quote_id(str(run.get('runId', 'RUN')))}`."
    elif status.startswith("waiting-"):
        yield "It goes on once somebody has answered a run below it."
    elif status == "failed":
        yield f"`weftwork events {run_id}` shows what led to it."
    elif status not in _TERMINAL_STATUSES:
        yield f"`weftwork events {run_id} --follow` shows how it goes on."
    if as_list(run.get("childRuns")):
        yield f"`weftwork runs tree {run_id}` shows the runs below it."


def _sections(run: dict[str, Any], times: Mapping[str, str]) -> Iterator[tuple[str, list[list[str]]]]:
    states = as_object(run.get("nodeStates")).items()
    yield "nodes", [_node_row(name, state, times.get(name, "")) for name, state in states]
    for title in ("inputs", "variables", "outputs"):
        values = {name: json.dumps(value, ensure_ascii=False) for name, value in as_object(run.get(title)).items()}
        yield title, [[clean(name, 60), clean(text, _MAX_VALUE)] for name, text in values.items()]
    yield "artifacts", [_artifact_row(name, made) for name, made in as_object(run.get("artifacts")).items()]


def _node_row(name: str, state: Any, took: str) -> list[str]:
    known = state if is_object(state) else {"status": state}
    attempt, error = known.get("attempt"), known.get("error")
    said = f"{clean(error.get('code', '?'))}: {clean(error.get('message', ''), _MAX_VALUE)}" if is_object(error) else ""
    tried = f"attempt {attempt}" if isinstance(attempt, int) else ""
    return [clean(name, 60), clean(known.get("status", "?"), 40), tried, took, said]


def _open_interrupts(run: dict[str, Any]) -> list[Any]:
    return as_list(run.get("interrupts")) or ([run["interrupt"]] if is_object(run.get("interrupt")) else [])


def _interrupt_lines(
    run: dict[str, Any], known: dict[str, Any], url: str, questions: Mapping[str, dict[str, Any]]
) -> Iterator[str]:
    """What a node asks, whole, and a command that answers."""
    node_id = str(known.get("nodeId", run.get("currentNodeId", "NODE")))
    more = questions.get(node_id, {})
    # The events may tell of an older question of the same node.
    question = {**more, **known} if more.get("key") == known.get("key") else known
    first, *rest = describe_interrupt(question)
    since = format_time(known.get("requestedAt"))
    yield f"{clean(node_id, 60)} asks {first}"
    yield from rest
    if since:
        yield f"{_CHILD_INDENT}since {since} UTC"
    yield from status_lines(question, datetime.now(UTC))
    yield "answer with"
    yield _CHILD_INDENT + answer_command(url, str(run.get("runId", "RUN")), node_id)
    yield "or"
    pieces = curl_lines(url, str(run.get("runId", "RUN")), node_id, question)
    yield from (_CHILD_INDENT + line for line in " \\\n  ".join(pieces).split("\n"))


def _artifact_row(name: str, made: Any) -> list[str]:
    known = as_object(made)
    version = f"version {clean(known['version'], 20)}" if "version" in known else ""
    return [clean(name, 60), clean(known.get("artifactType", ""), 60), version, clean(known.get("nodeId", ""), 60)]
