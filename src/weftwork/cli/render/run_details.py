"""The snapshot of a run as text, with its child runs: counts by status, and a few children of each status.

The snapshot may come from any host and is not trusted.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from weftwork.cli.client.run_tree import TreeRun, fork_text, format_status_counts, update_statuses
from weftwork.cli.console.documents import as_list, as_object, as_text
from weftwork.cli.console.table import align
from weftwork.cli.console.text import MAX_LENGTH, clean
from weftwork.cli.console.units import format_elapsed, format_time
from weftwork.cli.render.interrupt_text import answer_command, curl_lines, describe_interrupt, quote_id, status_lines
from weftwork.cli.render.node_lines import provider_wait_text
from weftwork.protocol.json.values import is_object

_MAX_PER_STATUS: Final = 3
"""Maximum number of children shown per workflow and status."""
_MAX_URGENT: Final = 10
"""The same for failed and waiting children."""
_MAX_CHILDREN: Final = 30
_CHILD_INDENT: Final = "  "


def child_lines(run: dict[str, Any], from_events: Sequence[TreeRun]) -> Iterator[str]:
    """Lines about the children of the snapshot, which may be truncated, and about those found in the events."""
    listed: list[TreeRun] = []
    for row in map(as_object, as_list(run.get("childRuns"))):
        run_id, name, status, node_id = (str(row.get(each, "")) for each in ("runId", "workflowId", "status", "nodeId"))
        listed.append(TreeRun(run_id or "?", name, status, node_id))
    update_statuses(from_events, run)
    children = list({each.run_id: each for each in (*listed, *from_events)}.values())
    if not children:
        return
    is_truncated = run.get("childRunsTruncated") is True and len(children) == len(listed)
    status = clean(format_status_counts(children), 200)
    yield ""
    yield f"child runs (first {len(children)}): {status}" if is_truncated else f"child runs: {status}"
    selected = list(_select_children(children))
    yield from align(map(_child_row, selected), _CHILD_INDENT)
    if is_truncated or len(children) > len(selected):
        rest = "" if is_truncated else f"and {len(children) - len(selected)} more; "
        parent = quote_id(str(run.get("runId", "RUN")))
        yield f"{_CHILD_INDENT}{rest}`weftwork runs ls --parent {parent} --all` lists all child runs"


def _select_children(runs: Sequence[TreeRun]) -> Iterator[TreeRun]:
    """A few children of each workflow and status: failed ones first, then waiting, active and ended ones."""
    counts: Counter[tuple[str, str]] = Counter()
    count = 0
    for run in sorted(runs, key=_rank):
        counts[run.workflow_id, run.status] += 1
        limit = _MAX_URGENT if _rank(run) < 2 else _MAX_PER_STATUS
        if count < _MAX_CHILDREN and counts[run.workflow_id, run.status] <= limit:
            count += 1
            yield run


def _rank(run: TreeRun) -> int:
    if run.status == "failed" or run.is_waiting:
        return 0 if run.status == "failed" else 1
    return 3 if run.is_terminal else 2


def _child_row(run: TreeRun) -> list[str]:
    error_code = run.detail if run.status == "failed" else ""
    return [clean(each, 60) for each in (run.run_id, run.status or "started", run.workflow_id, run.node_id, error_code)]


_MAX_VALUE: Final = 100
"""Maximum number of characters shown of one value."""
_MAX_NAME: Final = 60
"""Maximum number of characters shown of the name of a host."""
_MAX_ROWS: Final = 50
"""Maximum number of lines per section; the rest is counted."""
_TERMINAL_STATUSES: Final = ("completed", "failed", "cancelled")
_ADVICE: Final = {
    "run_timeout": "Raise the time limit: configurable.runTimeoutMs of the run, or settings.timeout of the workflow.",
    "recursion_limit_exceeded": "Check for a loop that does not end, or raise configurable.recursionLimit.",
    "loop_limit_exceeded": "Check the condition that ends the loop, or raise the limit named in the error.",
    "run_state_too_large": "Keep large values in assets, let nodes return less, or raise `max_run_state_bytes`.",
    "run_log_too_large": "Divide the work among child runs, or raise `max_run_log_bytes`.",
    "tenant_quota_exceeded": "Delete runs of the tenant that are not needed, or raise `max_log_bytes_per_tenant`.",
    "node_timeout": "Raise the timeout or the number of attempts in the settings of the node.",
    "node_input_missing": "Pass the missing input to the run, or give the node's input a static value.",
    "variable_type_mismatch": "Change the variable's type, or the values that nodes write to it.",
    "capability_not_provided": "Select a model that has the capability, or use a host that provides it.",
    "host_invariant_broken": "Report this to the operator of the host; the host's log has details.",
}


def run_detail_lines(
    run: dict[str, Any],
    times: Mapping[str, str],
    url: str,
    interrupts: Mapping[str, dict[str, Any]],
    children: Sequence[TreeRun] = (),
) -> Iterator[str]:
    """Lines about the run: status, open interrupts or error, child runs, nodes, and values.

    `times` has the durations of nodes, in the order in which they are shown; nodes that it lacks come last.
    `interrupts` has the recorded interrupts by node, which may have more members than the snapshot, and `children` the
    child runs found in the events.
    """
    yield from align(_head(run))
    for each in _open_interrupts(run)[:_MAX_ROWS]:
        yield ""
        yield from _interrupt_lines(run, as_object(each), url, interrupts)
    yield from child_lines(run, children)
    yield from _section_lines(run, times)


def earlier_run_lines(run: dict[str, Any], sequence: int) -> Iterator[str]:
    """Lines about the run as it was after an event. Its open interrupts are shown without commands to answer them."""
    yield from align([("after", f"event {sequence}"), *_head(run, has_advice=False)])
    for each in map(as_object, _open_interrupts(run)[:_MAX_ROWS]):
        first, *rest = describe_interrupt(each)
        yield from ("", f"{clean(each.get('nodeId', '?'), 60)} requested {first}", *rest)
    yield from child_lines(run, ())
    yield from _section_lines(run, {})


def _section_lines(run: dict[str, Any], times: Mapping[str, str]) -> Iterator[str]:
    for title, rows in _sections(run, times):
        if rows:
            yield ""
            yield title
            yield from align(rows[:_MAX_ROWS], _CHILD_INDENT)
            if len(rows) > _MAX_ROWS:
                yield f"{_CHILD_INDENT}and {len(rows) - _MAX_ROWS} more; --json shows all"


def _head(run: dict[str, Any], has_advice: bool = True) -> Iterator[tuple[str, str]]:
    for name, member in (("run", "runId"), ("workflow", "workflowId"), ("status", "status")):
        yield name, clean(run.get(member, "?"))
    yield from _import_rows(run)
    created, started, ended = (run.get(member) for member in ("createdAt", "startedAt", "completedAt"))
    if format_time(created) != format_time(started):
        yield "created", f"{format_time(created)} UTC"
    yield from time_rows(started, ended)
    for name, member in (("at node", "currentNodeId"), ("child of", "parentRunId")):
        if run.get(member):
            yield name, clean(run[member])
    if is_object(forked_from := run.get("forkedFrom")):
        yield "fork of", clean(f"{as_text(forked_from.get('runId'))}, {fork_text(forked_from)}")
    if tags := as_list(run.get("tags")):
        yield "tags", clean(", ".join(map(str, tags)), _MAX_VALUE)
    yield from error_rows(run.get("error"))
    if has_advice:
        yield from (("next", advice) for advice in _next_steps(run))


def _import_rows(run: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Rows that say where an imported run comes from."""
    imported = run.get("imported")
    if not is_object(imported):
        return
    host = as_object(imported.get("host"))
    product = f"{clean(host.get('name', '?'), _MAX_NAME)} {clean(host.get('version', ''), _MAX_NAME)}".strip()
    at = format_time(imported.get("exportedAt"))
    yield "imported", f"run {clean(imported.get('runId', '?'))} of {product}{f', exported {at} UTC' if at else ''}"
    if imported.get("status") != run.get("status"):
        yield "there", f"{clean(imported.get('status', '?'), 40)} when it was exported; nothing continues it here"
    yield "trust", "untrusted: everything in the run is a claim of the bundle"


def time_rows(started: Any, ended: Any) -> Iterator[tuple[str, str]]:
    """Rows with the start and end of a run; a time that is not known has no row."""
    if format_time(started):
        yield "started", f"{format_time(started)} UTC"
    if format_time(ended):
        duration = format_elapsed(started, ended)
        yield "ended", f"{format_time(ended)} UTC" + (f", took {duration}" if duration else "")


def error_rows(error: Any, most: int = MAX_LENGTH) -> Iterator[tuple[str, str]]:
    """Rows with the error of a run; none without an error. `most` limits the length of the code."""
    if is_object(error):
        yield "error", f"{clean(error.get('code', '?'), most)}: {clean(error.get('message', ''))}"
        if is_object(error.get("details")) and error["details"]:
            yield "details", clean(error["details"])


def is_set_aside(run: dict[str, Any]) -> bool:
    """Whether the host does not execute the run, because it is too large. Only such a run has an error before its
    end."""
    return is_object(run.get("error")) and run.get("status") not in _TERMINAL_STATUSES


def _next_steps(run: dict[str, Any]) -> Iterator[str]:
    """Suggestions for the status and error of the run."""
    run_id, status, error = clean(run.get("runId", "RUN")), str(run.get("status", "")), run.get("error")
    if is_set_aside(run):
        # The error says what to do, and nothing else can be done with the run.
        yield f"Cancel the run with `weftwork runs cancel {run_id}`, or take it up again with a higher limit."
        return
    if is_object(error) and str(error.get("code")) in _ADVICE:
        yield _ADVICE[str(error["code"])]
    if status == "paused":
        yield f"Resume the run with `weftwork runs resume {run_id}`."
    elif status.startswith("waiting-") and _open_interrupts(run):
        yield f"Answer the open interrupt with `weftwork answer {quote_id(str(run.get('runId', 'RUN')))}`."
    elif status.startswith("waiting-"):
        yield "The run waits for a child run; answer the open interrupt of that run."
    elif status == "failed":
        yield f"See the events that led to the error with `weftwork events {run_id}`."
    elif status not in _TERMINAL_STATUSES:
        yield f"Follow the run with `weftwork events {run_id} --follow`."
    if as_list(run.get("childRuns")):
        yield f"See the child runs with `weftwork runs tree {run_id}`."


def _sections(run: dict[str, Any], times: Mapping[str, str]) -> Iterator[tuple[str, list[list[str]]]]:
    states = as_object(run.get("nodeStates"))
    # The order of the members of a snapshot depends on the host and on its store.
    order = [*(name for name in times if name in states), *(name for name in states if name not in times)]
    yield "nodes", [_node_row(name, states[name], times.get(name, "")) for name in order]
    for title in ("inputs", "variables", "outputs"):
        values = {name: json.dumps(value, ensure_ascii=False) for name, value in as_object(run.get(title)).items()}
        yield title, [[clean(name, 60), clean(text, _MAX_VALUE)] for name, text in values.items()]
    yield "artifacts", [_artifact_row(name, artifact) for name, artifact in as_object(run.get("artifacts")).items()]


def _node_row(name: str, state: Any, duration: str) -> list[str]:
    node = state if is_object(state) else {"status": state}
    attempt, error = node.get("attempt"), node.get("error")
    text = f"{clean(error.get('code', '?'))}: {clean(error.get('message', ''), _MAX_VALUE)}" if is_object(error) else ""
    if is_object(wait := node.get("waitsFor")):
        text = provider_wait_text(wait)
    attempts = f"attempt {attempt}" if isinstance(attempt, int) else ""
    return [clean(name, 60), clean(node.get("status", "?"), 40), attempts, duration, text]


def _open_interrupts(run: dict[str, Any]) -> list[Any]:
    return as_list(run.get("interrupts")) or ([run["interrupt"]] if is_object(run.get("interrupt")) else [])


def _interrupt_lines(
    run: dict[str, Any], listed: dict[str, Any], url: str, interrupts: Mapping[str, dict[str, Any]]
) -> Iterator[str]:
    """The open interrupt of a node in full, and two commands that answer it."""
    node_id = str(listed.get("nodeId", run.get("currentNodeId", "NODE")))
    recorded = interrupts.get(node_id, {})
    # The recorded interrupt may be an older one of the same node.
    interrupt = {**recorded, **listed} if recorded.get("key") == listed.get("key") else listed
    first, *rest = describe_interrupt(interrupt)
    since = format_time(listed.get("requestedAt"))
    yield f"{clean(node_id, 60)} requests {first}"
    yield from rest
    if since:
        yield f"{_CHILD_INDENT}open since {since} UTC"
    yield from status_lines(interrupt, datetime.now(UTC))
    yield "answer with"
    yield _CHILD_INDENT + answer_command(url, str(run.get("runId", "RUN")), node_id)
    yield "or"
    pieces = curl_lines(url, str(run.get("runId", "RUN")), node_id, interrupt)
    yield from (_CHILD_INDENT + line for line in " \\\n  ".join(pieces).split("\n"))


def _artifact_row(name: str, artifact: Any) -> list[str]:
    members = as_object(artifact)
    version = f"version {clean(members['version'], 20)}" if "version" in members else ""
    return [clean(name, 60), clean(members.get("artifactType", ""), 60), version, clean(members.get("nodeId", ""), 60)]
