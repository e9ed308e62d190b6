"""`weftwork assets`: what a tenant has in images, sounds and files, and what nobody needs any more."""

import json
from contextlib import ExitStack
from typing import Any

import click

from weftwork.cli.asset_get import get
from weftwork.cli.asset_prune import prune
from weftwork.cli.client import Client
from weftwork.cli.connect import connected
from weftwork.cli.plain import say, shown
from weftwork.cli.suggest import suggest_runs


@click.group()
def assets() -> None:
    """List, send and fetch assets: images, sounds and files; delete what nobody needs.

    All but prune ask a weftwork host with a key.
    """


assets.add_command(get)
assets.add_command(prune)


@assets.command()
@click.option("--run", "run_id", metavar="RUN", shell_complete=suggest_runs, help="Only those that this run refers to.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Most assets to list.")
@click.option("--all", "every", is_flag=True, help="List all of them, however many there are.")
@connected
def ls(client: Client, as_json: bool, run_id: str | None, limit: int, every: bool) -> None:
    """List assets, newest first.

    An asset stays as long as a run refers to it, and until the time in the last column, which is in UTC. A terminal
    shows the beginning of each digest, which `weftwork assets get` takes; elsewhere the whole mediaRef is printed.

    \b
    Examples:
      weftwork assets ls --run 01m7f5zzhp2z8y1fpzhf93nsbb
      weftwork assets ls --all --json
    """
    # Imported late, here and below: `weftwork --help` needs none of it.
    from weftwork.cli.asset_lines import HEAD, listed, row, used

    pairs = list(listed(client, run_id, None if every else limit))
    found, usage = [asset for asset, _ in pairs], pairs[-1][1] if pairs else None
    if as_json:
        say(json.dumps({"assets": found, "usage": usage}, indent=2))
    elif found:
        from weftwork.cli.table import print_table

        print_table(HEAD, [row(asset) for asset in found], cut=("type",))
        if line := used(usage):
            say(line, err=True)
    else:
        say("There are no such assets.", err=True)


@assets.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--name", metavar="TEXT", help="The name under which others save it.  [default: that of the file]")
@click.option("--type", "media_type", metavar="TYPE", help="What it is, as image/png.  [default: by the file's name]")
@click.option(
    "--days",
    type=click.IntRange(1),
    metavar="N",
    help="Days that it stays if no run refers to it.  [default: as the host does]",
)
@connected
def put(
    client: Client, as_json: bool, files: tuple[str, ...], name: str | None, media_type: str | None, days: int | None
) -> None:
    """Send files to a host and print their mediaRefs, one on each line. - is standard input.

    A mediaRef names the file in inputs of runs and in messages to models. The digest of each file is sent along and
    compared with that of what the host has kept. All files are looked at before the first one is sent. A file that is
    not of the type that was given, or that its name says, is kept as application/octet-stream, with a warning.

    \b
    Examples:
      weftwork assets put invoice.png
      weftwork assets put report.pdf --days 30 --json
      pandoc notes.md -t html | weftwork assets put - --name notes.html
    """
    from weftwork.cli.upload import Upload, send, standard_input

    if name is not None and len(files) > 1:
        raise click.UsageError("--name is for one file.")
    if files.count("-") > 1:
        raise click.UsageError("standard input can be read once.")
    made: list[dict[str, Any]] = []
    with ExitStack() as stack:
        uploads = [
            stack.enter_context(standard_input(media_type, name)) if file == "-" else Upload(file, media_type)
            for file in files
        ]
        for file, upload in zip(files, uploads, strict=True):
            answer = send(client, upload, name, days)
            made.append({"file": file, **answer})
            if not as_json:
                say(shown(answer["mediaRef"], 200))
                say(_kept(upload, answer), err=True)
    if as_json:
        say(json.dumps({"assets": made}, indent=2))


def _kept(upload: Any, answer: dict[str, Any]) -> str:
    from weftwork.cli.elapsed import clock
    from weftwork.cli.progress import size

    until = clock(answer.get("expiresAt"))
    held = f", stays until {until} UTC, or as long as a run refers to it" if until else ""
    return f"{shown(upload.path, 200)}: {shown(answer.get('mimeType', '?'), 80)}, {size(upload.size)}{held}"
