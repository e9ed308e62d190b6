"""`weftwork bundle`: download a run as a debug bundle, and show a saved bundle without a host."""

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
from weftwork.cli.imports.media_packing import MAX_PACKED_BYTES, PackedBundle, pack_media
from weftwork.cli.render.bundle_file import (
    annotation_lines,
    bundle_head,
    event_lines,
    media_lines,
    read_bundle,
    span_lines,
)
from weftwork.protocol.json.values import is_array
from weftwork.protocol.wire.v1.paths import path_for

MAX_SHOWN: Final = 50
"""Maximum number of spans, of media and of annotations shown without --all."""
MAX_NAME: Final = 100


@click.command("open")
@click.argument("file", metavar="FILE")
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    help="Only events of this type or family: `node` matches every node.* event. Repeatable.",
)
@click.option("--node", "nodes", multiple=True, metavar="ID", help="Only events of this node. Repeatable.")
@click.option("--last", type=click.IntRange(0), metavar="N", help="Only the last N matching events; 0 for none.")
@click.option(
    "--all", "every", is_flag=True, help=f"Show all spans, media and annotations, not only {MAX_SHOWN} of each."
)
@click.option("--json", "as_json", is_flag=True, help="Print a summary of the bundle as JSON.")
def open_bundle(
    file: str, types: tuple[str, ...], nodes: tuple[str, ...], last: int | None, every: bool, as_json: bool
) -> None:
    """Show a saved bundle; no host is needed.

    FILE may be - for standard input. Shows the run and its error, its events as `weftwork events` does, its spans, its
    media with their URLs, which need the host, and its annotations. Warnings about missing or inconsistent content go
    to standard error.

    \b
    Examples:
      weftwork bundle open bundle.json
      weftwork bundle open bundle.json --type node --type run --last 20
    """
    bundle = read_bundle(file)

    def matches(event: dict[str, Any]) -> bool:
        kind = str(event.get("type", ""))
        of_type = not types or any(kind == each or kind.startswith(f"{each.rstrip('.*')}.") for each in types)
        return of_type and (not nodes or event.get("nodeId") in nodes)

    matched = [event for event in bundle.events if matches(event)]
    if bundle.events and not matched:
        first = clean(str(bundle.events[0].get("type")), 60)
        options = " and ".join(name for name, values in (("--type", types), ("--node", nodes)) if values)
        count = count_of(len(bundle.events), "event")
        say(f"no event matches {options}; the bundle has {count}, the first of type {first}.", err=True)
    if as_json:
        say_json({**bundle.summary(), "matchedEvents": len(matched)} if types or nodes else bundle.summary())
        return
    if last is not None:
        matched = matched[len(matched) - min(last, len(matched)) :]
    say_lines(align(bundle_head(bundle)))
    if matched:
        count = f", {len(matched)} of {len(bundle.events)}" if len(matched) < len(bundle.events) else ""
        say(f"\nevents{count}")
        say_lines(event_lines(bundle, matched))
    limit = None if every else MAX_SHOWN
    sections = (("spans", span_lines), ("media", media_lines), ("annotations", annotation_lines))
    for title, render in sections:
        if lines := render(bundle, limit):
            say_lines([f"\n{title}", *lines])
    say_lines((f"warning: {line}" for line in bundle.problems), err=True)


class _BundleGroup(CommandGroup):
    """Treats a first argument that is not a subcommand as a run to save: `bundle RUN` is `bundle save RUN`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `save` where no subcommand is given."""
        is_command = args[:1] and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_command or (ctx.resilient_parsing and not args) else ["save", *args])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Suggest subcommands and run ids."""
        runs = suggest_runs(ctx, self.commands["save"].params[0], incomplete)
        return [*super().shell_complete(ctx, incomplete), *map(CompletionItem, runs)]


@click.group(cls=_BundleGroup)
def bundle() -> None:
    """Save a run as a debug bundle, or show a saved bundle.

    `weftwork bundle RUN` is short for `weftwork bundle save RUN`.
    """


bundle.add_command(open_bundle)


@bundle.command()
@click.argument("run_id", metavar="RUN", shell_complete=suggest_runs)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Output file; - is standard output.  [default: bundle-RUN.json]",
)
@click.option(
    "--max-events", type=click.IntRange(1), metavar="N", help="Maximum number of events.  [default: as many as fit]"
)
@click.option("--media", "with_media", is_flag=True, help="Pack media of the run, up to 3 MiB, for an import.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@client_options
def save(
    client: Client,
    as_json: bool,
    run_id: str,
    output: str | None,
    max_events: int | None,
    with_media: bool,
    force: bool,
) -> None:
    """Save a run with its events, spans and annotations as one JSON file.

    A bundle is meant to be shared: the host removes redacted values and anything that looks like a credential. Review
    it before you share it. The file is readable only by you. The command reports what did not fit; --json prints the
    file name and its contents as JSON. With --media, the file also has the bytes of images, audio and other assets to
    which the run refers, so that `weftwork runs import` can show them on another host.

    \b
    Examples:
      weftwork bundle 01m7f5zzhp2z8y1fpzhf93nsbb
      weftwork bundle save 01m7f5zzhp2z8y1fpzhf93nsbb --media
      weftwork bundle 01m7f5zzhp2z8y1fpzhf93nsbb -o - | jq .run
    """
    run_id = complete_run_id(client, run_id)
    to_stdout = output == "-"
    safe_id = "".join(each if each.isascii() and (each.isalnum() or each in "._-") else "_" for each in run_id)
    path = Path(output or f"bundle-{safe_id[:MAX_NAME]}.json")
    if not to_stdout:
        _check_destination(path, force)
    data = _download(client, run_id, max_events)
    contents = _read_summary(client, data)
    if with_media:
        packed = _pack(client, data)
        data = packed.data
        contents |= {"mediaCount": packed.packed, "missingMedia": packed.missing}
    if to_stdout:
        click.echo(data, nl=False)
    else:
        _write(path, data, force)
    summary = {"runId": run_id, "file": "-" if to_stdout else str(path), "bytes": len(data), **contents}
    if as_json:
        say_json(summary, err=to_stdout)
        return
    prefix = "" if to_stdout else f"{clean(str(path))}: "
    media = f", {count_of(contents['mediaCount'], 'media file')}" if with_media else ""
    say(f"{prefix}{count_of(contents['eventCount'], 'event')}{media}, {format_size(len(data))}", err=to_stdout)
    if contents.get("missingMedia"):
        limit = f"more than {format_size(MAX_PACKED_BYTES)}, or not available any more"
        say(f"not packed: {count_of(contents['missingMedia'], 'media file')} ({limit})", err=True)
    # Report what is missing from the bundle, and the command that prints it.
    if contents.get("omitted"):
        names = ", ".join(clean(each, 60) for each in contents["omitted"][:20])
        show = f"weftwork runs show {clean(run_id)} --json"
        say(f"members of the run that are too large for the bundle: {names}; `{show}` prints them", err=True)
    if contents["truncated"] and contents.get("truncatedReason") != "run_truncated_to_size_cap":
        reason = f" ({clean(contents['truncatedReason'], 80)})" if "truncatedReason" in contents else ""
        command = f"weftwork events {clean(run_id)} --json --from {contents['eventCount']}"
        first = count_of(contents["eventCount"], "event")
        say(f"the bundle is truncated to the first {first}{reason}; `{command}` prints the rest", err=True)


def _download(client: Client, run_id: str, max_events: int | None) -> bytes:
    on_progress, clear = transfer_progress("received")
    try:
        return client.download(path_for("getDebugBundle", runId=run_id), on_progress, maxEvents=max_events)
    except RequestRefused as refused:
        if refused.status in NOT_OFFERED and not client.supports("debugBundle"):
            raise click.ClickException("this host does not support debug bundles.") from None
        raise
    finally:
        clear()


def _pack(client: Client, data: bytes) -> PackedBundle:
    on_progress, clear = transfer_progress("received")
    try:
        return pack_media(client, data, on_progress)
    finally:
        clear()


def _read_summary(client: Client, data: bytes) -> dict[str, Any]:
    """Counts and truncation of a bundle. Raises HostUnreachable if the data is not a bundle."""
    try:
        document = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        events = msgspec.json.decode(document["events"], type=list[msgspec.Raw])
        members = ("run", "truncated", "truncatedReason")
        run, truncated, reason = (msgspec.json.decode(document.get(name, b"null")) for name in members)
    except (msgspec.DecodeError, KeyError, RecursionError):
        text = f"{client.url} sent a response that is not a debug bundle; check that --url is an OpenWOP v1 host."
        raise HostUnreachable(text) from None
    summary: dict[str, Any] = {"eventCount": len(events), "truncated": truncated is True}
    if truncated is True and isinstance(reason, str):
        summary["truncatedReason"] = reason
    omitted = as_object(run).get("omitted")
    if is_array(omitted):
        summary["omitted"] = [each for each in omitted if isinstance(each, str)]
    return summary


def _check_destination(path: Path, force: bool) -> None:
    if path.is_dir():
        raise click.UsageError(f"{path} is a folder; pass a file with -o FILE.")
    if not force and path.exists():
        raise click.UsageError(
            f"{path} already exists; overwrite it with --force, or choose another file with -o FILE."
        )


def _write(path: Path, data: bytes, force: bool) -> None:
    """Write the complete file or none, readable only by the user."""
    partial = path.with_name(f".{path.name}.{os.getpid()}") if force else path
    try:
        # O_EXCL fails if the file was created since the check.
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            try:
                file.write(data)
                file.flush()
                if force:
                    partial.replace(path)
            except BaseException:
                with contextlib.suppress(OSError):
                    partial.unlink()
                raise
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}.") from None
