"""`weftwork bundle`: download a run as one file, and show such a file without a host."""

import contextlib
import os
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from click.shell_completion import CompletionItem

from weftwork.cli.client.errors import NOT_OFFERED, HostUnreachable, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options, suggest_runs
from weftwork.cli.client.run_ids import complete_run_id
from weftwork.cli.client.upload import transfer_progress
from weftwork.cli.console.command_group import CommandGroup
from weftwork.cli.console.documents import as_object
from weftwork.cli.console.table import align
from weftwork.cli.console.text import clean, say, say_json, say_lines
from weftwork.cli.console.units import count_of, format_size
from weftwork.cli.render.bundle_file import bundle_head, event_lines, media_lines, read_bundle, span_lines
from weftwork.protocol.json.values import is_array
from weftwork.protocol.wire.v1.paths import path_for

MAX_SHOWN: Final = 50
"""Spans and media that are shown without --all."""
MAX_NAME: Final = 100


@click.command("open")
@click.argument("file", metavar="FILE")
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="Only events of this type, or of this family: node is every node.*. Repeatable.",
)
@click.option("--node", "nodes", multiple=True, metavar="ID", help="Only events of this node. Repeatable.")
@click.option("--last", type=click.IntRange(0), metavar="N", help="Only the last N of them; 0 for none.")
@click.option("--all", "every", is_flag=True, help=f"Show every span and all media, not just {MAX_SHOWN} of each.")
@click.option("--json", "as_json", is_flag=True, help="Print what the bundle says of itself as JSON.")
def open_bundle(
    file: str, types: tuple[str, ...], nodes: tuple[str, ...], last: int | None, every: bool, as_json: bool
) -> None:
    """Show a bundle that is saved in FILE, without any host; - is standard input.

    Shows the run and why it failed, its events as `weftwork events` does, its spans, and its media with their URLs,
    which only the host can open. What is missing or not as it should be is said on standard error.

    \b
    Examples:
      weftwork bundle open bundle.json
      weftwork bundle open bundle.json --type node --type run --last 20
    """
    found = read_bundle(file)

    def fits(event: dict[str, Any]) -> bool:
        kind = str(event.get("type", ""))
        of_type = not types or any(kind == each or kind.startswith(f"{each.rstrip('.*')}.") for each in types)
        return of_type and (not nodes or event.get("nodeId") in nodes)

    kept = [event for event in found.events if fits(event)]
    if found.events and not kept:
        first = clean(str(found.events[0].get("type")), 60)
        say(f"no event fits; there are {len(found.events)}, as of {first}", err=True)
    if as_json:
        say_json({**found.summary(), "shown": len(kept)} if types or nodes else found.summary())
        return
    if last is not None:
        kept = kept[len(kept) - min(last, len(kept)) :]
    say_lines(align(bundle_head(found)))
    if kept:
        left = f", {len(kept)} of {len(found.events)}" if len(kept) < len(found.events) else ""
        say(f"\nevents{left}")
        say_lines(event_lines(found, kept))
    most = None if every else MAX_SHOWN
    for title, lines in (("spans", span_lines(found, most)), ("media", media_lines(found, most))):
        if lines:
            say_lines([f"\n{title}", *lines])
    say_lines((f"warning: {line}" for line in found.problems), err=True)


class _BundleGroup(CommandGroup):
    """What is none of its commands is a run to save, so that the usual case needs no word for it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it, with the word put in."""
        known = args[:1] and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if known or (ctx.resilient_parsing and not args) else ["save", *args])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Its commands, and runs."""
        runs = suggest_runs(ctx, self.commands["save"].params[0], incomplete)
        return [*super().shell_complete(ctx, incomplete), *map(CompletionItem, runs)]


@click.group(cls=_BundleGroup)
def bundle() -> None:
    """Save a run in one file, or look at such a file.

    `weftwork bundle RUN` is short for `weftwork bundle save RUN`.
    """


bundle.add_command(open_bundle)


@bundle.command()
@click.argument("run_id", metavar="RUN", shell_complete=suggest_runs)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Where to write it; - is standard output.  [default: bundle-RUN.json in this folder]",
)
@click.option("--max-events", type=click.IntRange(1), metavar="N", help="Most events to put in.  [default: what fits]")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@client_options
def save(client: Client, as_json: bool, run_id: str, output: str | None, max_events: int | None, force: bool) -> None:
    """Save a run with its events and spans in one file.

    It is for passing on: what the host hides is not in it, nor what looks like a credential. Look through it all the
    same. Only you can read the file. What did not fit is said. --json prints what was written where.

    \b
    Examples:
      weftwork bundle 01m7f5zzhp2z8y1fpzhf93nsbb
      weftwork bundle 01m7f5zzhp2z8y1fpzhf93nsbb -o - | jq .run
    """
    run_id = complete_run_id(client, run_id)
    to_stdout = output == "-"
    safe = "".join(each if each.isascii() and (each.isalnum() or each in "._-") else "_" for each in run_id)
    place = Path(output or f"bundle-{safe[:MAX_NAME]}.json")
    if not to_stdout:
        _check_destination(place, force)
    data = _download(client, run_id, max_events)
    told = _read_summary(client, data)
    if to_stdout:
        click.echo(data, nl=False)
    else:
        _write(place, data, force)
    summary = {"runId": run_id, "file": "-" if to_stdout else str(place), "bytes": len(data), **told}
    if as_json:
        say_json(summary, err=to_stdout)
        return
    where = "" if to_stdout else f"{clean(str(place))}: "
    say(f"{where}{count_of(told['events'], 'event')}, {format_size(len(data))}", err=to_stdout)
    # What is not in the bundle, and how to get at it.
    if told.get("omitted"):
        names = ", ".join(clean(each, 60) for each in told["omitted"][:20])
        say(f"too large for it: {names} of the run; see `weftwork runs show {clean(run_id)} --json`", err=True)
    if told["truncated"] and told.get("truncatedReason") != "run_truncated_to_size_cap":
        why = f" ({clean(told['truncatedReason'], 80)})" if "truncatedReason" in told else ""
        then = f"weftwork events {clean(run_id)} --json --from {told['events']}"
        say(f"it has only the first {count_of(told['events'], 'event')}{why}; `{then}` prints the others", err=True)


def _download(client: Client, run_id: str, max_events: int | None) -> bytes:
    heard, clear = transfer_progress("received")
    try:
        return client.download(path_for("getDebugBundle", runId=run_id), heard, maxEvents=max_events)
    except RequestRefused as refused:
        if refused.status in NOT_OFFERED and not client.supports("debugBundle"):
            raise click.ClickException("this host does not offer debug bundles.") from None
        raise
    finally:
        clear()


def _read_summary(client: Client, data: bytes) -> dict[str, Any]:
    """What the bundle says of itself. Raises HostUnreachable for what is none."""
    try:
        found = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        events = msgspec.json.decode(found["events"], type=list[msgspec.Raw])
        members = ("run", "truncated", "truncatedReason")
        run, truncated, reason = (msgspec.json.decode(found.get(name, b"null")) for name in members)
    except (msgspec.DecodeError, KeyError, RecursionError):
        text = f"{client.url} answers with something that is no debug bundle; see that --url names an OpenWOP v1 host."
        raise HostUnreachable(text) from None
    told: dict[str, Any] = {"events": len(events), "truncated": truncated is True}
    if truncated is True and isinstance(reason, str):
        told["truncatedReason"] = reason
    omitted = as_object(run).get("omitted")
    if is_array(omitted):
        told["omitted"] = [each for each in omitted if isinstance(each, str)]
    return told


def _check_destination(place: Path, force: bool) -> None:
    if place.is_dir():
        raise click.UsageError(f"{place} is a folder; name a file with -o.")
    if not force and place.exists():
        raise click.UsageError(f"{place} is there; write over it with --force, or name another file with -o.")


def _write(place: Path, data: bytes, force: bool) -> None:
    """Whole or not at all; nobody else may read it."""
    made = place.with_name(f".{place.name}.{os.getpid()}") if force else place
    try:
        # Fails if somebody has made it meanwhile.
        with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            try:
                file.write(data)
                file.flush()
                if force:
                    made.replace(place)
            except BaseException:
                with contextlib.suppress(OSError):
                    made.unlink()
                raise
    except OSError as error:
        raise click.ClickException(f"{place} cannot be written: {error.strerror}.") from None
