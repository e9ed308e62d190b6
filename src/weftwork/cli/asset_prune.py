"""`weftwork assets prune`: delete assets that nobody needs, on a running host or on its store."""

import json
import sys
from typing import Any

import click

from weftwork.cli.operator import Operator
from weftwork.cli.progress import size


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say how many there are.")
@click.option("--yes", is_flag=True, help="Do not ask. Nothing is asked either when no terminal is there to answer.")
@click.option("--data", metavar="DIR", help="The host's data folder.  [default: the user's data folder]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and ask nothing.")
def prune(dry_run: bool, yes: bool, data: str | None, as_json: bool) -> None:
    """Delete assets of all tenants that no run refers to and whose time is over, and bytes that belong to none.

    A host does so by itself every ten minutes. What a run refers to is never deleted: delete old runs first, with
    `weftwork runs prune`. The host goes on meanwhile, and after an interruption the same command goes on with the rest.
    """
    with Operator(data) as operator:
        found = operator.ask("assets.count", {})
        done = {"deleted": 0, "freed": 0, "strays": 0}
        if not dry_run:
            if found["assets"] and not yes and not as_json and sys.stdin.isatty():
                click.confirm(f"Delete {_assets(found['assets'])}, {size(found['bytes'])}?", abort=True, err=True)
            done = _prune(operator, found["assets"])
    if as_json:
        click.echo(json.dumps({"found": found["assets"], **done, "dryRun": dry_run}, indent=2))
    elif dry_run:
        click.echo(f"nobody needs {_assets(found['assets'])}, {size(found['bytes'])}; nothing was deleted.")
    else:
        strays = f"; {done['strays']} files without an asset deleted" if done["strays"] else ""
        click.echo(f"{_assets(done['deleted'])} deleted, {size(done['freed'])}{strays}.")


def _prune(operator: Operator, found: int) -> dict[str, int]:
    """Slice by slice, so that the host has time for others and the user sees how far it is."""
    in_place = sys.stderr.isatty()
    done, more = {"deleted": 0, "freed": 0, "strays": 0}, True
    while more:
        answer: dict[str, Any] = operator.ask("assets.prune", {})
        done = {name: count + answer[name] for name, count in done.items()}
        more = answer["more"]
        if in_place:
            click.echo(f"\r{done['deleted']} of {found}", err=True, nl=not more)
    return done


def _assets(count: int) -> str:
    return "1 asset" if count == 1 else f"{count} assets"
