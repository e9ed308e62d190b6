"""`weftwork runs prune`: delete old runs, on a running host or on its store."""

import json
import sys
import time
from typing import Any, Final

import click

from weftwork.cli.elapsed import length
from weftwork.cli.operator import Operator
from weftwork.protocol.timestamp import iso

_SAY_SECONDS: Final = 10.0
"""How often progress is said where it cannot be shown in place."""


@click.command()
@click.option(
    "--older-than",
    callback=length,
    required=True,
    metavar="AGE",
    help="Delete runs that ended so long ago: 90m, 12h, 30d, 2w.",
)
@click.option("--tenant", metavar="NAME", help="Only runs of this tenant, live and test.  [default: of all]")
@click.option("--dry-run", is_flag=True, help="Only say how many there are.")
@click.option("--yes", is_flag=True, help="Do not ask. Nothing is asked either when no terminal is there to answer.")
@click.option("--data", metavar="DIR", help="The host's data folder.  [default: the user's data folder]")
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
    with Operator(data) as operator:
        found: int = operator.ask("runs.count", wanted)["runs"]
        deleted = 0
        if found and not dry_run:
            if not yes and not as_json and sys.stdin.isatty():
                click.confirm(f"Delete {_runs(found)} that ended before {iso(before)}?", abort=True, err=True)
            deleted = _prune(operator, wanted, found)
    if as_json:
        shown = {"endedBefore": iso(before), "found": found, "deleted": deleted, "dryRun": dry_run}
        click.echo(json.dumps(shown, indent=2))
    elif dry_run:
        click.echo(f"{_runs(found)} ended before {iso(before)}; nothing was deleted.")
    else:
        click.echo(f"{_runs(deleted)} that ended before {iso(before)} deleted.")


def _prune(operator: Operator, wanted: dict[str, Any], found: int) -> int:
    """Slice by slice, so that the host has time for others and the user sees how far it is."""
    in_place = sys.stderr.isatty()
    deleted, more, said = 0, True, time.monotonic()
    while more:
        answer = operator.ask("runs.prune", wanted)
        deleted, more = deleted + answer["deleted"], answer["more"]
        if in_place:
            click.echo(f"\r{deleted} of {found}", err=True, nl=not more)
        elif more and time.monotonic() - said >= _SAY_SECONDS:
            click.echo(f"{deleted} of {found} deleted", err=True)
            said = time.monotonic()
    return deleted


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"
