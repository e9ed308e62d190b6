"""`weftwork inbox`: list the open interrupts of a tenant's runs, oldest first."""

import time
from datetime import UTC, datetime
from typing import Any, Final

import click

from weftwork.cli.client.http_client import Client
from weftwork.cli.client.listing import list_open_interrupts
from weftwork.cli.client.options import client_options, suggest_kinds, suggest_waiting_runs, suggest_workflows
from weftwork.cli.client.run_ids import complete_run_id
from weftwork.cli.console.table import print_listing
from weftwork.cli.console.units import format_elapsed, parse_duration
from weftwork.cli.render.interrupt_text import due_text, form_note, headline, vote_progress
from weftwork.protocol.timestamps import iso

_FORM_COLUMN: Final = 3
"""The position of the column `form`."""


@click.command()
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    shell_complete=suggest_kinds,
    help="Only interrupts of this kind: approval, clarification, external-event, ... Repeatable.",
)
@click.option(
    "--workflow", metavar="ID", shell_complete=suggest_workflows, help="Only interrupts in runs of this workflow."
)
@click.option(
    "--run", "run_id", metavar="RUN", shell_complete=suggest_waiting_runs, help="Only interrupts of this run."
)
@click.option("--node", metavar="NODE", help="Only interrupts of this node.")
@click.option(
    "--due-within",
    callback=parse_duration,
    metavar="TIME",
    help="Only interrupts that expire within this time or are overdue: 90s, 30m, 24h, 3d.",
)
@click.option(
    "--limit", type=click.IntRange(1), default=50, show_default=True, help="Maximum number of interrupts to list."
)
@click.option("--all", "every", is_flag=True, help="List all interrupts, regardless of --limit.")
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
    """List open interrupts, oldest first.

    Requires a weftwork host. Answer an interrupt with `weftwork answer RUN/NODE`. The column `expires` has the time
    left before the interrupt times out. The column `form` is present if an agent wrote a form for an interrupt.

    \b
    Examples:
      weftwork inbox --kind approval --due-within 24h
      weftwork inbox --workflow order --all --json
    """
    run_id = run_id and complete_run_id(client, run_id)
    before = None if due_within is None else iso(int(time.time() * 1000) + due_within)
    rows = list(
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
    empty = "no open interrupts match these options." if filtered else "no open interrupts."
    head = ["run", "node", "question", "age", "expires", "votes", "kind", "workflow"]
    lines = [_row(each) for each in rows]
    forms = [form_note(each) for each in rows]
    if any(forms):
        head.insert(_FORM_COLUMN, "form")
        for line, form in zip(lines, forms, strict=True):
            line.insert(_FORM_COLUMN, form)
    print_listing({"interrupts": rows}, as_json, head, lines, ("question", "form"), empty)


def _row(interrupt: dict[str, Any]) -> list[str]:
    now = datetime.now(UTC)
    run_id, node_id, kind, workflow_id = (
        str(interrupt.get(name, "?")) for name in ("runId", "nodeId", "kind", "workflowId")
    )
    return [
        run_id,
        node_id,
        headline(interrupt),
        format_elapsed(interrupt.get("requestedAt", interrupt.get("createdAt")), now.isoformat()),
        due_text(interrupt, now),
        vote_progress(interrupt),
        kind,
        workflow_id,
    ]
