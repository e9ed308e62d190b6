"""`weftwork runs`: list, show and control the runs of any OpenWOP host, and show the tree of child runs.

`prune` deletes old runs of a weftwork host, through its admin socket, or on the store of a stopped host.
"""

import shutil
import sys
import time
import uuid
from typing import Any, Final

import click

from weftwork.cli.client.admin_session import AdminSession
from weftwork.cli.client.errors import NOT_OFFERED, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.listing import list_rows
from weftwork.cli.client.options import client_options, suggest_runs, suggest_statuses, suggest_workflows
from weftwork.cli.client.run_ids import complete_run_id
from weftwork.cli.client.run_tree import read_tree, run_tree_path
from weftwork.cli.client.store_location import StoreLocation, store_options
from weftwork.cli.console.command_group import CommandGroup
from weftwork.cli.console.documents import as_object
from weftwork.cli.console.table import print_listing
from weftwork.cli.console.text import can_draw, clean, say, say_document, say_json, say_lines
from weftwork.cli.console.units import count_of, format_elapsed, format_recent_time, format_time, parse_duration
from weftwork.cli.follow.event_steps import EventSteps, print_steps, step_by_keys, step_by_lines
from weftwork.cli.follow.run_views import JsonTreeView, LineTreeView, LiveTreeView, RunTreeView, print_tree
from weftwork.cli.follow.run_watch import MAX_RUNS, RunEventsWatch, known_children, node_times, read_history
from weftwork.cli.forks.fork import fork, request_fork, say_fork
from weftwork.cli.forks.retry import retry
from weftwork.cli.imports.import_run import import_run
from weftwork.cli.render.run_details import earlier_run_lines, is_set_aside, run_detail_lines
from weftwork.protocol.json.values import is_object
from weftwork.protocol.run.header import DRAIN_POLICIES, STATUSES, TERMINAL_STATUSES
from weftwork.protocol.timestamps import iso
from weftwork.protocol.wire.v1.paths import method_and_path, path_for


@click.command()
@click.argument("run_id", metavar="RUN", shell_complete=suggest_runs)
@click.option("--follow", is_flag=True, help="Keep the tree up to date until RUN has ended.")
@client_options
def tree(client: Client, as_json: bool, run_id: str, follow: bool) -> None:
    """Show a run with its child runs and forks as a tree.

    Requires a weftwork host. Each line has the workflow, the status, the run id, the duration, and the node at which
    the run waits or its error code. The line of a fork also has its mode and the sequence from which it differs from
    the run above it. At most 20 siblings with the same workflow and status are listed; the rest are
    counted.

    With --follow, a terminal updates the tree in place; otherwise a line is printed for each new or changed run. With
    --follow --json, the whole tree is printed as one line of JSON after each change. Ctrl-C exits with 130; the run
    continues on the host.

    \b
    Examples:
      weftwork runs tree 01m7f5zzhp2z8y1fpzhf93nsbb
      weftwork runs tree 01m7f5zzhp2z8y1fpzhf93nsbb --follow
    """
    run_id = complete_run_id(client, run_id)
    document = _get_tree(client, run_id)
    if as_json and not follow:
        say_json(document)
    elif not follow:
        print_tree(document, LiveTreeView(document).console if can_draw() else None)
    elif as_json:
        _follow_tree(client, run_id, document, JsonTreeView())
    elif can_draw():
        with LiveTreeView(document) as screen:
            client.notify = screen.note
            _follow_tree(client, run_id, document, screen)
    else:
        _follow_tree(client, run_id, document, LineTreeView())


def _get_tree(client: Client, run_id: str) -> Any:
    try:
        document = client.get(run_tree_path(run_id), limit=MAX_RUNS)
    except RequestRefused as refused:
        if refused.status not in NOT_OFFERED:
            raise
        # Raises the host's own 404 if the run does not exist.
        client.get(path_for("getRun", runId=run_id))
        document = None
    if read_tree(document) is None:
        text = "this host does not return run trees, which are a weftwork extension"
        raise click.ClickException(f"{text}. Try `weftwork runs show RUN`, which may list child runs.")
    return document


def _follow_tree(client: Client, run_id: str, document: Any, view: "RunTreeView") -> None:
    """Show the tree now and after each possible change, until the run has ended."""
    view.show(document)
    top = read_tree(document)
    if top is None or top.is_terminal:
        return
    with RunEventsWatch(client, run_id) as watch:
        is_finished = False
        while not is_finished:
            watch.wait_for_change()
            is_finished = watch.is_finished
            if watch.error is not None:
                raise watch.error
            # A failed lookup is retried at the next change; if the host is down, the watch reports the error.
            latest = (
                _get_tree(client, run_id)
                if is_finished
                else client.try_get(f"{run_tree_path(run_id)}?limit={MAX_RUNS}")
            )
            if read_tree(latest) is not None:
                view.show(latest)


_PROGRESS_SECONDS: Final = 10.0
"""Seconds between progress lines if standard error is not a terminal."""


@click.command()
@click.option(
    "--older-than",
    callback=parse_duration,
    required=True,
    metavar="AGE",
    help="Minimum time since the end of a run: 90m, 12h, 30d, 2w.",
)
@click.option("--tenant", metavar="NAME", help="Only runs of this tenant, live and test.  [default: all tenants]")
@click.option("--dry-run", is_flag=True, help="Count the runs without deleting them.")
@click.option("--yes", is_flag=True, help="Skip the confirmation prompt. Without a terminal there is no prompt.")
@store_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text, without a confirmation prompt.")
def prune(
    older_than: int, tenant: str | None, dry_run: bool, yes: bool, location: StoreLocation, as_json: bool
) -> None:
    """Delete old runs with their events and all other data of the run.

    Only runs that have ended are deleted. The host keeps running. If the command is interrupted, run it again to delete
    the rest.
    """
    before = max(0, int(time.time() * 1000) - older_than)
    criteria: dict[str, Any] = {"completed_before": before}
    if tenant is not None:
        criteria["tenant"] = tenant
    with AdminSession(location) as session:
        count: int = session.request("runs.count", criteria)["runs"]
        deleted = 0
        if count and not dry_run:
            if not yes and not as_json and sys.stdin.isatty():
                click.confirm(f"Delete {count_of(count, 'run')} that ended before {iso(before)}?", abort=True, err=True)
            deleted = _prune_runs(session, criteria, count)
    if as_json:
        say_json({"endedBefore": iso(before), "count": count, "deleted": deleted, "dryRun": dry_run})
    elif dry_run:
        text = f"{count_of(count, 'run')} that ended before {iso(before)} would be deleted"
        click.echo(f"{text}; nothing was deleted (--dry-run).")
    else:
        click.echo(f"deleted {count_of(deleted, 'run')} that ended before {iso(before)}.")


def _prune_runs(session: AdminSession, criteria: dict[str, Any], total: int) -> int:
    """Delete in batches, so that the host can serve requests in between and progress can be shown."""
    in_place = sys.stderr.isatty()
    deleted, has_more, reported_at = 0, True, time.monotonic()
    while has_more:
        answer = session.request("runs.prune", criteria)
        deleted, has_more = deleted + answer["deleted"], answer["more"]
        if in_place:
            click.echo(f"\r{deleted} of {total}", err=True, nl=not has_more)
        elif has_more and time.monotonic() - reported_at >= _PROGRESS_SECONDS:
            click.echo(f"deleted {deleted} of {total} runs", err=True)
            reported_at = time.monotonic()
    return deleted


_run = click.argument("run_id", metavar="RUN", shell_complete=suggest_runs)
_reason = click.option("--reason", metavar="TEXT", help="Reason to record in the run's events.")


@click.group(cls=CommandGroup)
def runs() -> None:
    """List, show, replay, control, fork, retry, import and prune runs.

    All commands except import, prune, retry, tree and show --at work with any OpenWOP host. Each fork, retry, replay
    and import makes a new run; all other commands can be repeated without a further effect.
    """


runs.add_command(prune)
runs.add_command(tree)
runs.add_command(import_run)
runs.add_command(fork)
runs.add_command(retry)


@runs.command()
@click.option(
    "--status",
    "statuses",
    multiple=True,
    metavar="STATUS",
    shell_complete=suggest_statuses,
    help=f"Only runs with this status: {', '.join(STATUSES)}. Repeatable.",
)
@click.option(
    "--workflow", metavar="ID", shell_complete=suggest_workflows, help="Only runs of this workflow.  [default: all]"
)
@click.option("--parent", metavar="RUN", shell_complete=suggest_runs, help="Only child runs of this run.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Maximum number of runs to list.")
@click.option("--all", "every", is_flag=True, help="List all runs, regardless of --limit.")
@client_options
def ls(
    client: Client,
    as_json: bool,
    statuses: tuple[str, ...],
    workflow: str | None,
    parent: str | None,
    limit: int,
    every: bool,
) -> None:
    """List runs, newest first.

    Times are in UTC. The last column has the current node of the run, or its error code.

    \b
    Examples:
      weftwork runs ls --status failed --limit 5
      weftwork runs ls --workflow hello --all --json
    """
    refusal = f"this host does not list runs: {method_and_path('listRuns')} is optional for OpenWOP hosts"
    parent = parent and complete_run_id(client, parent)
    query: dict[str, Any] = {"status": list(statuses) or None, "workflowId": workflow, "parentRunId": parent}
    refusal += ". Show a run by its id with `weftwork runs show RUN`."
    try:
        rows = [run for run, _ in list_rows(client, "listRuns", "runs", None if every else limit, refusal, **query)]
    except RequestRefused as refused:
        if refused.status in (400, 422) and not set(statuses) <= set(STATUSES):
            say(f"valid values of --status are {', '.join(STATUSES)}.", err=True)
        raise
    if parent is not None and any(is_object(run) and run.get("parentRunId") != parent for run in rows):
        raise click.ClickException(
            "this host does not support --parent. `weftwork runs show RUN` may list the child runs."
        )
    head = ("run", "status", "workflow", "created", "duration", "at")
    filtered = bool(statuses) or workflow is not None or parent is not None
    empty = "no runs match these options." if filtered else "no runs; start one with `weftwork run WORKFLOW`."
    print_listing({"runs": rows}, as_json, head, map(_row, rows), ("status", "at"), empty)


def _row(run: Any) -> list[str]:
    snapshot = as_object(run)
    format_created = format_recent_time if sys.stdout.isatty() else format_time
    error = snapshot.get("error")
    at = error.get("code", "") if is_object(error) else snapshot.get("currentNodeId", "")
    if is_set_aside(snapshot):
        at = f"set aside: {at}"
    if is_object(snapshot.get("imported")):
        at = f"imported{f': {at}' if at else ''}"
    started = snapshot.get("startedAt", snapshot.get("createdAt"))
    return [
        *(str(snapshot.get(member, "?")) for member in ("runId", "status", "workflowId")),
        format_created(snapshot.get("createdAt", snapshot.get("startedAt"))),
        format_elapsed(started, snapshot.get("completedAt")),
        str(at),
    ]


@runs.command()
@_run
@click.option(
    "--at",
    "sequence",
    type=click.IntRange(0),
    metavar="SEQ",
    help="Show the run as it was directly after the event with this sequence.  [default: as it is now]",
)
@client_options
def show(client: Client, as_json: bool, run_id: str, sequence: int | None) -> None:
    """Show the status of a run, with its open interrupts or its error.

    Long values are truncated; --json prints the complete snapshot as the host sent it. --at requires a weftwork host.

    \b
    Examples:
      weftwork runs show 01m7f5zzhp2z8y1fpzhf93nsbb
      weftwork runs show 01m7f5zzhp2z8y1fpzhf93nsbb --at 12
    """
    run_id = complete_run_id(client, run_id)
    if sequence is not None:
        _show_at(client, as_json, run_id, sequence)
        return
    snapshot = client.get(path_for("getRun", runId=run_id))
    if as_json:
        say_json(snapshot)
        return
    if not is_object(snapshot):
        raise click.ClickException(f"{client.url} sent a response that is not a run; check --url.")
    history = read_history(client, run_id)
    interrupts = {row.node_id: row.interrupt for row in history.nodes.values() if row.interrupt is not None}
    say_lines(run_detail_lines(snapshot, node_times(history), client.url, interrupts, known_children(history)))


def _show_at(client: Client, as_json: bool, run_id: str, sequence: int) -> None:
    """Show an earlier state. Other hosts ignore the parameter and return the current state, which would be wrong."""
    path = path_for("getRun", runId=run_id)
    host = as_object(as_object(client.get(path_for("getCapabilities"))).get("implementation"))
    if host.get("name") != "weftwork":
        text = "this host does not show earlier states of runs, which is a weftwork extension"
        raise click.ClickException(f"{text}. Go through the events with `weftwork runs replay RUN --step`.")
    snapshot = client.get(path, atSequence=sequence)
    if as_json:
        say_json(snapshot)
        return
    if not is_object(snapshot):
        raise click.ClickException(f"{client.url} sent a response that is not a run; check --url.")
    say_lines(earlier_run_lines(snapshot, sequence))


@runs.command()
@_run
@click.option("--step", is_flag=True, help="Start nothing: go through the events one at a time, in both directions.")
@click.option("--follow", is_flag=True, help="Follow the replay to its end. Without it, only its run id is printed.")
@client_options
def replay(client: Client, as_json: bool, run_id: str, step: bool, follow: bool) -> None:
    """Repeat a run as a new run that calls nothing; with --step, go through its events.

    The new run is that of `weftwork runs fork RUN --replay`: it uses recorded answers and effects again, and records
    the first difference as replay.diverged.

    --step shows each event with the variables that it changed. On a terminal, keys move through the run: n, space
    or the right arrow to the next event, p or the left arrow to the previous one, g or home to the first, G or end
    to the last, a number and enter to the event with that sequence, q to quit. If standard input is not a terminal,
    each of its lines is one of n, p, g, G, a number, and q. With --json every event is printed as one line of JSON,
    with its changes. Nothing is executed, and the run is not changed.

    \b
    Examples:
      weftwork runs replay 01m7f5zzhp2z8y1fpzhf93nsbb --follow
      weftwork runs replay 01m7f5zzhp2z8y1fpzhf93nsbb --step
      weftwork runs replay 01m7f5zzhp2z8y1fpzhf93nsbb --step --json
    """
    if step and follow:
        raise click.UsageError("--step starts no run that could be followed; leave out --follow.")
    run_id = complete_run_id(client, run_id)
    if not step:
        body: dict[str, Any] = {"mode": "replay", "fromSeq": 0}
        say_fork(client, request_fork(client, "forkRun", run_id, body), as_json, follow)
        return
    steps = EventSteps(client, run_id)
    if as_json:
        print_steps(steps)
    elif sys.stdin.isatty():
        step_by_keys(steps, lambda: shutil.get_terminal_size().columns, can_draw())
    else:
        step_by_lines(steps, sys.stdin.readline)


@runs.command()
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True, shell_complete=suggest_runs)
@_reason
@client_options
def cancel(client: Client, as_json: bool, run_ids: tuple[str, ...], reason: str | None) -> None:
    """Cancel runs.

    A run that has already ended is not changed, and this is not an error. If the host refuses to cancel a run, the
    others are still cancelled, and the exit code is 7.

    \b
    Example:
      weftwork runs cancel 01m7f5zzhp2z8y1fpzhf93nsbb --reason "wrong input"
    """
    body = {"reason": reason} if reason is not None else None
    answers: list[Any] = []
    refusal: RequestRefused | None = None
    for run_id in [complete_run_id(client, each) for each in run_ids]:
        try:
            answer = client.post(path_for("cancelRun", runId=run_id), body, idempotency_key=str(uuid.uuid4()))
        except RequestRefused as refused:
            if refused.status in (401, 403):
                raise
            refusal = refused
            answers.append({"runId": run_id, "error": refused.code, "message": refused.message})
            say(f"{clean(run_id)}: {refused.format_message()}", err=True)
            continue
        status = client.require_text(answer, "status", f"the status of run {clean(run_id)}")
        answers.append(answer)
        if not as_json:
            had_ended = status in TERMINAL_STATUSES and status != "cancelled"
            outcome = f"has already ended: {clean(status)}" if had_ended else "is cancelled"
            say(f"{clean(run_id)} {'is being cancelled' if status == 'cancelling' else outcome}")
    if as_json:
        say_json({"runs": answers})
    if refusal is not None:
        raise SystemExit(refusal.exit_code)


@runs.command()
@_run
@click.option(
    "--drain-policy",
    type=click.Choice(DRAIN_POLICIES),
    help="Whether running nodes finish first, or are interrupted and restarted later.  [default: drain-current-node]",
)
@_reason
@client_options
def pause(client: Client, as_json: bool, run_id: str, drain_policy: str | None, reason: str | None) -> None:
    """Pause a run: it starts no more nodes until it is resumed.

    \b
    Example:
      weftwork runs pause 01m7f5zzhp2z8y1fpzhf93nsbb --drain-policy immediate
    """
    run_id = complete_run_id(client, run_id)
    answer = _pause_or_resume(client, run_id, "pauseRun", {"drainPolicy": drain_policy, "reason": reason})
    if as_json:
        say_json(answer)
        return
    # The response is the same whether or not nodes are still running; the snapshot has the difference.
    snapshot = None if drain_policy == "immediate" else client.try_get(path_for("getRun", runId=run_id))
    is_paused = drain_policy == "immediate" or (is_object(snapshot) and snapshot.get("status") == "paused")
    say(f"{clean(run_id)} {'is paused' if is_paused else 'will be paused when its running nodes have finished'}")


@runs.command()
@_run
@_reason
@client_options
def resume(client: Client, as_json: bool, run_id: str, reason: str | None) -> None:
    """Resume a paused run.

    \b
    Example:
      weftwork runs resume 01m7f5zzhp2z8y1fpzhf93nsbb
    """
    run_id = complete_run_id(client, run_id)
    answer = _pause_or_resume(client, run_id, "resumeRun", {"reason": reason})
    say_document(answer, as_json, [f"{clean(run_id)} is resumed"])


def _pause_or_resume(client: Client, run_id: str, operation: str, body: dict[str, Any]) -> Any:
    """The host's response. Pausing is optional in the protocol, and a host without it may respond with 404."""
    request = {name: value for name, value in body.items() if value is not None}
    try:
        answer = client.post(path_for(operation, runId=run_id), request or None, idempotency_key=str(uuid.uuid4()))
    except RequestRefused as refused:
        if refused.status in NOT_OFFERED and not client.supports("runs", "pauseResume"):
            raise click.ClickException("this host does not support pausing and resuming runs.") from None
        raise
    client.require_text(answer, "status", f"the status of run {clean(run_id)}")
    return answer
