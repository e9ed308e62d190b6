"""`weftwork inbox`: what the runs of a tenant ask, oldest first."""

import time
from datetime import UTC, datetime
from typing import Any

import click

from weftwork.cli.client.http_client import Client
from weftwork.cli.client.listing import list_open_interrupts
from weftwork.cli.client.options import client_options, suggest_kinds, suggest_waiting_runs, suggest_workflows
from weftwork.cli.client.run_ids import complete_run_id
from weftwork.cli.console.table import print_listing
from weftwork.cli.console.units import format_elapsed, parse_duration
from weftwork.cli.render.interrupt_text import due_text, headline, vote_progress
from weftwork.protocol.timestamps import iso


@click.command()
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    shell_complete=suggest_kinds,
    help="Only questions of this kind: approval, clarification, external-event and others. Repeatable.",
)
@click.option("--workflow", metavar="ID", shell_complete=suggest_workflows, help="Only those of runs of this workflow.")
@click.option("--run", "run_id", metavar="RUN", shell_complete=suggest_waiting_runs, help="Only those of this run.")
@click.option("--node", metavar="NODE", help="Only those that this node asks.")
@click.option(
    "--due-within",
    callback=parse_duration,
    metavar="TIME",
    help="Only those that expire so soon, or are overdue: 90s, 30m, 24h, 3d.",
)
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Most questions to list.")
@click.option("--all", "every", is_flag=True, help="List all of them, however many there are.")
@client_options
def inbox(
    client: Client,
    as_json: bool,
    kinds: tuple[str, ...],
    workflow: str | None,
    run_id: str | None,
    node: str | None,
    due_within: int | None,
    limit: int,
    every: bool,
) -> None:
    """List what runs ask and nobody has answered yet, oldest first.

    Needs a weftwork host. Answer with `weftwork answer RUN/NODE`. `expires` says when a question stops to wait.

    \b
    Examples:
      weftwork inbox --kind approval --due-within 24h
      weftwork inbox --workflow order --all --json
    """
    run_id = run_id and complete_run_id(client, run_id)
    before = None if due_within is None else iso(int(time.time() * 1000) + due_within)
    found = list(
        list_open_interrupts(
            client,
            None if every else limit,
            kind=list(kinds) or None,
            workflowId=workflow,
            runId=run_id,
            nodeId=node,
            dueBefore=before,
        )
    )
    filtered = bool(kinds) or any(each is not None for each in (workflow, run_id, node, due_within))
    empty = "Nothing like that waits for an answer." if filtered else "Nothing waits for an answer."
    head = ("run", "node", "asks", "age", "expires", "votes", "kind", "workflow")
    print_listing({"interrupts": found}, as_json, head, map(_row, found), ("asks",), empty)


def _row(question: dict[str, Any]) -> list[str]:
    now = datetime.now(UTC)
    run_id, node_id, kind, workflow_id = (
        str(question.get(name, "?")) for name in ("runId", "nodeId", "kind", "workflowId")
    )
    return [
        run_id,
        node_id,
        headline(question),
        format_elapsed(question.get("requestedAt", question.get("createdAt")), now.isoformat()),
        due_text(question, now),
        vote_progress(question),
        kind,
        workflow_id,
    ]
