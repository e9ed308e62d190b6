"""`weftwork inbox`: what the runs of a tenant ask, oldest first."""

import json
import time
from datetime import UTC, datetime
from typing import Any

import click

from weftwork.cli.client.http_client import Client
from weftwork.cli.client.interrupts import list_open_interrupts
from weftwork.cli.client.options import client_options
from weftwork.cli.client.suggestions import suggest_kinds, suggest_waiting_runs, suggest_workflows
from weftwork.cli.console.table import print_table
from weftwork.cli.console.text import say
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
    if as_json:
        say(json.dumps({"interrupts": found}, indent=2))
    elif found:
        _print(found)
    else:
        filtered = bool(kinds) or any(each is not None for each in (workflow, run_id, node, due_within))
        say("Nothing like that waits for an answer." if filtered else "Nothing waits for an answer.", err=True)


def _print(found: list[dict[str, Any]]) -> None:
    now = datetime.now(UTC)
    rows = [
        [
            str(each.get("runId", "?")),
            str(each.get("nodeId", "?")),
            headline(each),
            format_elapsed(each.get("requestedAt", each.get("createdAt")), now.isoformat()),
            due_text(each, now),
            vote_progress(each),
            str(each.get("kind", "?")),
            str(each.get("workflowId", "?")),
        ]
        for each in found
    ]
    print_table(("run", "node", "asks", "age", "expires", "votes", "kind", "workflow"), rows, cut=("asks",))
