"""`weftwork assets`: upload, list, download and prune the images, sounds and files of a tenant.

`put`, `ls` and `get` ask a host over HTTP with a key. `prune` deletes assets that no run needs, on a running host
through its admin socket or on the store of a stopped one.
"""

import contextlib
import hashlib
import os
import re
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import urljoin, urlsplit

import click

from weftwork.cli.client.admin_session import AdminSession
from weftwork.cli.client.errors import HostUnreachable
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.listing import list_assets
from weftwork.cli.client.options import client_options, data_option, suggest_runs
from weftwork.cli.client.run_ids import complete_run_id
from weftwork.cli.client.transport import OpenResponse, Transport
from weftwork.cli.client.upload import Upload, spool_standard_input, transfer_progress, upload_asset
from weftwork.cli.console import units
from weftwork.cli.console.command_group import CommandGroup
from weftwork.cli.console.table import print_table
from weftwork.cli.console.text import clean, say, say_json
from weftwork.cli.console.units import count_of, format_size
from weftwork.protocol.json.values import is_object

TIMEOUT: Final = 30
_CHUNK_BYTES: Final = 262_144
MIN_DIGITS: Final = 8
"""Digits that the beginning of a digest has at least."""
_ASSET_NAME: Final = re.compile(r"(?:weftwork-asset:)?([0-9a-f]{1,64})")
_ETAG: Final = re.compile(r'"([0-9a-f]{64})"')


@click.command()
@click.argument("asset", metavar="ASSET")
@click.option("-o", "--output", metavar="FILE", help="Where to write it; - is standard output.  [default: its digest]")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@client_options
def get(client: Client, as_json: bool, asset: str, output: str | None, force: bool) -> None:
    """Fetch an asset: by its URL, which needs no key, or by its mediaRef or the beginning of its digest.

    Of a digest, eight digits or more are needed. The file is whole or not there, and its digest is compared. The key is
    not sent to a URL.

    \b
    Examples:
      weftwork assets get 569c60173924cc90 -o invoice.pdf
      weftwork assets get weftwork-asset:569c60173924cc903e73ce018e9df922d7f28fcc71ba3df4b8599cb89c7413b5
    """
    if output == "-" and sys.stdout.isatty():
        raise click.UsageError("these may be any bytes, and standard output is a terminal; name a file with -o.")
    if output is not None and output != "-":
        _check_destination(Path(output), force)
    url, digest = (asset, None) if asset.startswith(("http://", "https://", "/")) else _find_asset(client, asset)
    opened, kind = _open_url(urljoin(f"{client.url}/", url))
    try:
        expected = digest or _etag_digest(opened)
        if output == "-":
            count, place = _copy(opened, sys.stdout.buffer, expected)[0], "-"
            sys.stdout.buffer.flush()
        else:
            count, place = _save(opened, output, expected, force)
    finally:
        opened.close()
    if as_json:
        say_json({"file": place, "bytes": count, "mimeType": kind}, err=place == "-")
    elif place != "-":
        say(f"{clean(place, 200)}: {clean(kind, 80)}, {format_size(count)}")


def _find_asset(client: Client, asset: str) -> tuple[str, str]:
    """The URL and the digest of an asset that is listed."""
    part = _ASSET_NAME.fullmatch(asset)
    if part is None:
        raise click.UsageError(f"{clean(asset, 100)} is no URL, no mediaRef and no beginning of a digest.")
    if len(part[1]) < MIN_DIGITS:
        raise click.UsageError(f"{clean(asset, 100)} is too short: a digest begins with {MIN_DIGITS} digits at least.")
    found: dict[str, str] = {}
    for each, _ in list_assets(client, None, None):
        digest, url = str(each.get("mediaRef")).rpartition(":")[2], each.get("url")
        if digest.startswith(part[1]) and isinstance(url, str):
            found[digest] = url
            if len(part[1]) == 64 or len(found) > 1:
                break
    if not found:
        raise click.ClickException("there is no such asset; `weftwork assets ls --all` lists those there are.")
    if len(found) > 1:
        raise click.ClickException(f"more than one asset begins with {part[1]}; name more of its digest.")
    digest, url = found.popitem()
    return url, digest


def _open_url(url: str) -> "tuple[OpenResponse, str]":
    parts = urlsplit(url)
    # Its token is all that it needs: the key goes to no address that others have written.
    connection = Transport(f"{parts.scheme}://{parts.netloc}", None, TIMEOUT)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    if not path.isascii() or not path.isprintable() or " " in path:
        raise click.UsageError(f"{clean(url, 200)} is no URL.")
    opened = connection.open("GET", path, headers={"Accept": "*/*"})
    return opened, opened.media_type or "application/octet-stream"


def _etag_digest(opened: "OpenResponse") -> str | None:
    """The digest, where the entity tag is one."""
    found = _ETAG.fullmatch(opened.response.headers.get("ETag", ""))
    return found[1] if found is not None else None


def _copy(opened: "OpenResponse", into: BinaryIO, expected: str | None) -> tuple[int, str]:
    """How many bytes have come, and their digest. Raises HostUnreachable if they are not all, or not those."""
    heard, clear = transfer_progress("received")
    seen, count = hashlib.sha256(), 0
    try:
        while True:
            try:
                piece = opened.response.read(_CHUNK_BYTES)
            except (OSError, ValueError) as error:
                raise HostUnreachable(
                    f"the connection broke after {format_size(count)}: {clean(str(error), 100)}."
                ) from None
            if not piece:
                break
            into.write(piece)
            seen.update(piece)
            count += len(piece)
            heard(count)
    finally:
        clear()
    if opened.response.length:
        raise HostUnreachable(f"the connection broke after {format_size(count)}; try again.")
    if expected is not None and seen.hexdigest() != expected:
        raise HostUnreachable("the bytes that came are not those of the asset; try again.")
    return count, seen.hexdigest()


def _check_destination(place: Path, force: bool) -> None:
    if place.is_dir():
        raise click.UsageError(f"{clean(str(place), 200)} is a folder; name a file with -o.")
    if not force and place.exists():
        raise click.UsageError(f"{clean(str(place), 200)} is there; write over it with --force, or name another file.")


def _save(opened: "OpenResponse", output: str | None, expected: str | None, force: bool) -> tuple[int, str]:
    """Whole or not at all: under another name until all of it is there."""
    folder = Path(output).parent if output is not None else Path()
    made = folder / f".weftwork-asset-{os.getpid()}"
    try:
        with made.open("xb") as file:
            count, digest = _copy(opened, file, expected)
        place = Path(output if output is not None else f"asset-{digest[:16]}")
        _check_destination(place, force)
        # link() fails if the file was created in the meantime.
        (os.replace if force else os.link)(made, place)
    except OSError as error:
        where = clean(output or "the file", 200)
        raise click.ClickException(f"{where} cannot be written: {error.strerror or error}.") from None
    finally:
        with contextlib.suppress(OSError):
            made.unlink()
    return count, str(place)


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say how many there are.")
@click.option("--yes", is_flag=True, help="Do not ask. Nothing is asked either when no terminal is there to answer.")
@data_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and ask nothing.")
def prune(dry_run: bool, yes: bool, data: str | None, as_json: bool) -> None:
    """Delete assets of all tenants that no run refers to and whose time is over, and bytes that belong to none.

    A host does so by itself every ten minutes. What a run refers to is never deleted: delete old runs first, with
    `weftwork runs prune`. The host goes on meanwhile, and after an interruption the same command goes on with the rest.
    """
    with AdminSession(data) as operator:
        found = operator.request("assets.count", {})
        needless = f"{count_of(found['assets'], 'asset')}, {format_size(found['bytes'])}"
        done = {"deleted": 0, "freed": 0, "strays": 0}
        if not dry_run:
            if found["assets"] and not yes and not as_json and sys.stdin.isatty():
                click.confirm(f"Delete {needless}?", abort=True, err=True)
            done = _prune_assets(operator, found["assets"])
    if as_json:
        say_json({"found": found["assets"], **done, "dryRun": dry_run})
    elif dry_run:
        click.echo(f"nobody needs {needless}; nothing was deleted.")
    else:
        strays = f"; {done['strays']} files without an asset deleted" if done["strays"] else ""
        click.echo(f"{count_of(done['deleted'], 'asset')} deleted, {format_size(done['freed'])}{strays}.")


def _prune_assets(operator: AdminSession, found: int) -> dict[str, int]:
    """Slice by slice, so that the host has time for others and the user sees how far it is."""
    in_place = sys.stderr.isatty()
    done, more = {"deleted": 0, "freed": 0, "strays": 0}, True
    while more:
        answer: dict[str, Any] = operator.request("assets.prune", {})
        done = {name: count + answer[name] for name, count in done.items()}
        more = answer["more"]
        if in_place:
            click.echo(f"\r{done['deleted']} of {found}", err=True, nl=not more)
    return done


@click.group(cls=CommandGroup)
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
@client_options
def ls(client: Client, as_json: bool, run_id: str | None, limit: int, every: bool) -> None:
    """List assets, newest first.

    An asset stays as long as a run refers to it, and until the time in the last column, which is in UTC. A terminal
    shows the beginning of each digest, which `weftwork assets get` takes; elsewhere the whole mediaRef is printed.

    \b
    Examples:
      weftwork assets ls --run 01m7f5zzhp2z8y1fpzhf93nsbb
      weftwork assets ls --all --json
    """
    run_id = run_id and complete_run_id(client, run_id)
    pairs = list(list_assets(client, run_id, None if every else limit))
    found, usage = [asset for asset, _ in pairs], pairs[-1][1] if pairs else None
    if as_json:
        say_json({"assets": found, "usage": usage})
    elif found:
        print_table(_COLUMNS, [_asset_row(asset) for asset in found], cut=("type",))
        if line := _usage_text(usage):
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
@client_options
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
    if name is not None and len(files) > 1:
        raise click.UsageError("--name is for one file.")
    if files.count("-") > 1:
        raise click.UsageError("standard input can be read once.")
    made: list[dict[str, Any]] = []
    with ExitStack() as stack:
        uploads = [
            stack.enter_context(spool_standard_input(media_type, name)) if file == "-" else Upload(file, media_type)
            for file in files
        ]
        for file, upload in zip(files, uploads, strict=True):
            answer = upload_asset(client, upload, name, days)
            made.append({"file": file, **answer})
            if not as_json:
                say(clean(answer["mediaRef"], 200))
                until = units.format_time(answer.get("expiresAt"))
                held = f", stays until {until} UTC, or as long as a run refers to it" if until else ""
                kind = clean(answer.get("mimeType", "?"), 80)
                say(f"{clean(upload.path, 200)}: {kind}, {format_size(upload.size)}{held}", err=True)
    if as_json:
        say_json({"assets": made})


_SHORT_DIGEST: Final = 16
"""Digits of a digest that a terminal is shown: enough to tell assets apart."""
_COLUMNS: Final = ("asset", "type", "bytes", "age", "runs", "held until")


def _asset_row(asset: dict[str, Any]) -> list[str]:
    """As in HEAD. What is piped on has whole names and times."""
    at_terminal = sys.stdout.isatty()
    ref, count = str(asset.get("mediaRef", "?")), asset.get("bytes")
    made = units.parse_time(asset.get("createdAt"))
    return [
        ref.rpartition(":")[2][:_SHORT_DIGEST] if at_terminal else ref,
        str(asset.get("mimeType", "?")),
        format_size(count) if at_terminal and isinstance(count, int) else str(count),
        units.format_duration((datetime.now(UTC) - made).total_seconds() * 1000) if made is not None else "",
        str(asset.get("runs", "?")),
        (units.format_recent_time if at_terminal else units.format_time)(asset.get("heldUntil")),
    ]


def _usage_text(usage: Any) -> str | None:
    """How much room the tenant takes up."""
    if not is_object(usage) or not isinstance(usage.get("bytes"), int):
        return None
    quota = usage.get("quota")
    of = f" of {format_size(quota)}" if isinstance(quota, int) else ""
    count = usage.get("assets", "?")
    return f"{count} asset{'' if count == 1 else 's'} in all, {format_size(usage['bytes'])}{of}"
