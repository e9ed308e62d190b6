"""`weftwork runs`: list, show and control the runs of any OpenWOP host, and show the tree of child runs.

`prune` deletes old runs of our own host, through its admin socket if it is running or on its store if it is stopped.
"""

import sys
import time
import uuid
from typing import Any, Final

import click

from weftwork.cli.client.admin_session import AdminSession
from weftwork.cli.client.errors import NOT_OFFERED, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.listing import list_rows
from weftwork.cli.client.options import client_options, data_option, suggest_runs, suggest_statuses, suggest_workflows
from weftwork.cli.client.run_ids import complete_run_id
from weftwork.cli.client.run_tree import read_tree, run_tree_path
from weftwork.cli.console.command_group import CommandGroup
from weftwork.cli.console.documents import as_object
from weftwork.cli.console.table import print_listing
from weftwork.cli.console.text import can_draw, clean, say, say_document, say_json, say_lines
from weftwork.cli.console.units import count_of, format_elapsed, format_recent_time, format_time, parse_duration
from weftwork.cli.follow.run_views import JsonTreeView, LineTreeView, LiveTreeView, RunTreeView, print_tree
from weftwork.cli.follow.run_watch import MAX_RUNS, RunEventsWatch, known_children, node_times, read_history
from weftwork.cli.render.run_details import run_detail_lines
from weftwork.protocol.json.values import is_object
from weftwork.protocol.run.header import DRAIN_POLICIES, STATUSES, TERMINAL_STATUSES
from weftwork.protocol.timestamps import iso
from weftwork.protocol.wire.v1.paths import method_and_path, path_for


@click.command()
@click.argument("run_id", metavar="RUN", shell_complete=suggest_runs)
@click.option("--follow", is_flag=True, help="Show it anew until RUN has ended. Without, it is shown once.")
@client_options
def tree(client: Client, as_json: bool, run_id: str, follow: bool) -> None:
    """Show a run and the runs that were started below it.

    Needs a weftwork host. A line has the workflow, the status, the run id, how long it took, and the node where it
    waits or the code of its error. Of more than 20 siblings of one workflow that stand alike, the rest is counted.

    With --follow a terminal shows the tree anew in place; anything else gets a line for each run that is new or stands
    otherwise than before, and --json prints the document on a line each time that it has changed. Ctrl-C exits with
    130, and the run goes on.

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
        # If there is no such run, the host says so here.
        client.get(path_for("getRun", runId=run_id))
        document = None
    if read_tree(document) is None:
        text = "this host does not tell which runs a run has started: only a weftwork host does"
        raise click.ClickException(f"{text}. `weftwork runs show RUN` may name some.")
    return document


def _follow_tree(client: Client, run_id: str, document: Any, view: "RunTreeView") -> None:
    """Show the tree now, and each time that something may have changed, until the run is over."""
    view.show(document)
    top = read_tree(document)
    if top is None or top.is_terminal:
        return
    with RunEventsWatch(client, run_id) as watch:
        is_over = False
        while not is_over:
            watch.wait_for_change()
            is_over = watch.is_finished
            if watch.error is not None:
                raise watch.error
            # What cannot be seen now is seen later, or the run itself cannot be heard either.
            found = (
                _get_tree(client, run_id) if is_over else client.try_get(f"{run_tree_path(run_id)}?limit={MAX_RUNS}")
            )
            if read_tree(found) is not None:
                view.show(found)


_PROGRESS_SECONDS: Final = 10.0
"""How often progress is said where it cannot be shown in place."""


@click.command()
@click.option(
    "--older-than",
    callback=parse_duration,
    required=True,
    metavar="AGE",
    help="Delete runs that ended so long ago: 90m, 12h, 30d, 2w.",
)
@click.option("--tenant", metavar="NAME", help="Only runs of this tenant, live and test.  [default: of all]")
@click.option("--dry-run", is_flag=True, help="Only say how many there are.")
@click.option("--yes", is_flag=True, help="Do not ask. Nothing is asked either when no terminal is there to answer.")
@data_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and ask nothing.")
def prune(older_than: int, tenant: str | None, dry_run: bool, yes: bool, data: str | None, as_json: bool) -> None:
    """Delete runs that ended long ago, with their events and everything else that belongs to them.

    Unfinished runs are never deleted. The host goes on meanwhile. What was deleted before an interruption stays
    deleted, and the same command goes on with the rest.
    """
    before = max(0, int(time.time() * 1000) - older_than)
    wanted: dict[str, Any] = {"completed_before": before}
    if tenant is not None:
        wanted["tenant"] = tenant
    with AdminSession(data) as operator:
        found: int = operator.request("runs.count", wanted)["runs"]
        deleted = 0
        if found and not dry_run:
            if not yes and not as_json and sys.stdin.isatty():
                click.confirm(f"Delete {count_of(found, 'run')} that ended before {iso(before)}?", abort=True, err=True)
            deleted = _prune_runs(operator, wanted, found)
    if as_json:
        say_json({"endedBefore": iso(before), "found": found, "deleted": deleted, "dryRun": dry_run})
    elif dry_run:
        click.echo(f"{count_of(found, 'run')} ended before {iso(before)}; nothing was deleted.")
    else:
        click.echo(f"{count_of(deleted, 'run')} that ended before {iso(before)} deleted.")


def _prune_runs(operator: AdminSession, wanted: dict[str, Any], found: int) -> int:
    """Slice by slice, so that the host has time for others and the user sees how far it is."""
    in_place = sys.stderr.isatty()
    deleted, more, said = 0, True, time.monotonic()
    while more:
        answer = operator.request("runs.prune", wanted)
        deleted, more = deleted + answer["deleted"], answer["more"]
        if in_place:
            click.echo(f"\r{deleted} of {found}", err=True, nl=not more)
        elif more and time.monotonic() - said >= _PROGRESS_SECONDS:
            click.echo(f"{deleted} of {found} deleted", err=True)
            said = time.monotonic()
    return deleted


_run = click.argument("run_id", metavar="RUN", shell_complete=suggest_runs)
_reason = click.option("--reason", metavar="TEXT", help="Why, for those who read the run's events later.")


@click.group(cls=CommandGroup)
def runs() -> None:
    """List, show, cancel, pause and resume runs; delete old ones.

    All but prune and tree work with any OpenWOP host. Sending a command again does no harm.
    """


runs.add_command(prune)
runs.add_command(tree)


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
    "--workflow", metavar="ID", shell_complete=suggest_workflows, help="Only runs of this workflow.  [default: of all]"
)
@click.option("--parent", metavar="RUN", shell_complete=suggest_runs, help="Only runs that this run has started.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Most runs to list.")
@click.option("--all", "every", is_flag=True, help="List all of them, however many there are.")
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

    Times are in UTC. The last column says at which node a run is, or why it failed.

    \b
    Examples:
      weftwork runs ls --status failed --limit 5
      weftwork runs ls --workflow hello --all --json
    """
    refusal = f"this host does not list runs: {method_and_path('listRuns')} is not part of every OpenWOP host"
    parent = parent and complete_run_id(client, parent)
    query: dict[str, Any] = {"status": list(statuses) or None, "workflowId": workflow, "parentRunId": parent}
    refusal += ". Name a run: `weftwork runs show RUN`."
    try:
        found = [run for run, _ in list_rows(client, "listRuns", "runs", None if every else limit, refusal, **query)]
    except RequestRefused as refused:
        if refused.status in (400, 422) and not set(statuses) <= set(STATUSES):
            say(f"the statuses of runs are {', '.join(STATUSES)}.", err=True)
        raise
    if parent is not None and any(is_object(run) and run.get("parentRunId") != parent for run in found):
        raise click.ClickException("this host does not list the runs of one parent. Name it: `weftwork runs show RUN`.")
    head = ("run", "status", "workflow", "created", "took", "at")
    print_listing({"runs": found}, as_json, head, map(_row, found), ("status", "at"), "There are no such runs.")


def _row(run: Any) -> list[str]:
    known = as_object(run)
    told = format_recent_time if sys.stdout.isatty() else format_time
    error = known.get("error")
    at = error.get("code", "") if is_object(error) else known.get("currentNodeId", "")
    begun = known.get("startedAt", known.get("createdAt"))
    return [
        *(str(known.get(member, "?")) for member in ("runId", "status", "workflowId")),
        told(known.get("createdAt", known.get("startedAt"))),
        format_elapsed(begun, known.get("completedAt")),
        str(at),
    ]


@runs.command()
@_run
@client_options
def show(client: Client, as_json: bool, run_id: str) -> None:
    """Show how a run stands, and what it asks for or why it failed.

    Long values are cut; --json prints the whole snapshot as the host sent it.

    \b
    Example:
      weftwork runs show 01m7f5zzhp2z8y1fpzhf93nsbb
    """
    run_id = complete_run_id(client, run_id)
    found = client.get(path_for("getRun", runId=run_id))
    if as_json:
        say_json(found)
        return
    if not is_object(found):
        raise click.ClickException("the host's answer is not a run.")
    past = read_history(client, run_id)
    questions = {row.node_id: row.interrupt for row in past.nodes.values() if row.interrupt is not None}
    say_lines(run_detail_lines(found, node_times(past), client.url, questions, known_children(past)))


@runs.command()
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True, shell_complete=suggest_runs)
@_reason
@client_options
def cancel(client: Client, as_json: bool, run_ids: tuple[str, ...], reason: str | None) -> None:
    """Cancel runs.

    A run that has ended stays as it is, which is no failure. If a run is refused, the others are cancelled all the
    same, and the exit code is 7.

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
        status = client.require_text(answer, "status", f"how {clean(run_id)} stands now")
        answers.append(answer)
        if not as_json:
            done = status in TERMINAL_STATUSES and status != "cancelled"
            ended = f"had ended before: {clean(status)}" if done else "is cancelled"
            say(f"{clean(run_id)} {'is being cancelled' if status == 'cancelling' else ended}")
    if as_json:
        say_json({"runs": answers})
    if refusal is not None:
        raise SystemExit(refusal.exit_code)


@runs.command()
@_run
@click.option(
    "--drain-policy",
    type=click.Choice(DRAIN_POLICIES),
    help="Whether nodes that run end first, or are interrupted and start anew.  [default: drain-current-node]",
)
@_reason
@client_options
def pause(client: Client, as_json: bool, run_id: str, drain_policy: str | None, reason: str | None) -> None:
    """Keep a run from starting any more nodes, until it is resumed or cancelled.

    \b
    Example:
      weftwork runs pause 01m7f5zzhp2z8y1fpzhf93nsbb --drain-policy immediate
    """
    run_id = complete_run_id(client, run_id)
    answer = _pause_or_resume(client, run_id, "pauseRun", {"drainPolicy": drain_policy, "reason": reason})
    if as_json:
        say_json(answer)
        return
    # A host accepts it either way; its snapshot says whether there was something to wait for.
    now = None if drain_policy == "immediate" else client.try_get(path_for("getRun", runId=run_id))
    is_paused = drain_policy == "immediate" or (is_object(now) and now.get("status") == "paused")
    say(f"{clean(run_id)} is paused{'' if is_paused else ', once the nodes that run have ended'}")


@runs.command()
@_run
@_reason
@client_options
def resume(client: Client, as_json: bool, run_id: str, reason: str | None) -> None:
    """Let a paused run go on.

    \b
    Example:
      weftwork runs resume 01m7f5zzhp2z8y1fpzhf93nsbb
    """
    run_id = complete_run_id(client, run_id)
    answer = _pause_or_resume(client, run_id, "resumeRun", {"reason": reason})
    say_document(answer, as_json, [f"{clean(run_id)} is resumed"])


def _pause_or_resume(client: Client, run_id: str, operation: str, body: dict[str, Any]) -> Any:
    """Pausing is optional in the protocol, and a host without it answers as if there were no such run."""
    given = {name: value for name, value in body.items() if value is not None}
    try:
        answer = client.post(path_for(operation, runId=run_id), given or None, idempotency_key=str(uuid.uuid4()))
    except RequestRefused as refused:
        if refused.status in NOT_OFFERED and not client.supports("runs", "pauseResume"):
            raise click.ClickException("this host does not offer to pause and resume runs.") from None
        raise
    client.require_text(answer, "status", f"how {clean(run_id)} stands now")
    return answer
