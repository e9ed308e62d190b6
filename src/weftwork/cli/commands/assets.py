"""`weftwork assets`: upload, list, download and prune the assets (images, audio and other files) of a tenant.

`put`, `ls` and `get` talk to a host over HTTP with a key. `prune` deletes expired assets that no run refers to, on a
running host through its admin socket or on the store of a stopped one.
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
from weftwork.cli.client.options import client_options, suggest_runs
from weftwork.cli.client.run_ids import complete_run_id
from weftwork.cli.client.store_location import StoreLocation, store_options
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
"""Minimum number of hexadecimal digits of a digest prefix."""
_ASSET_NAME: Final = re.compile(r"(?:weftwork-asset:)?([0-9a-f]{1,64})")
_ETAG: Final = re.compile(r'"([0-9a-f]{64})"')


@click.command()
@click.argument("asset", metavar="ASSET")
@click.option("-o", "--output", metavar="FILE", help="Output file; - is standard output.  [default: asset-DIGEST]")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@client_options
def get(client: Client, as_json: bool, asset: str, output: str | None, force: bool) -> None:
    """Download an asset.

    ASSET is a URL, a mediaRef, or a prefix of at least eight digits of a digest. A URL needs no key, and the key is not
    sent to it. The digest of the download is verified, and the file appears only when it is complete.

    \b
    Examples:
      weftwork assets get 569c60173924cc90 -o invoice.pdf
      weftwork assets get weftwork-asset:569c60173924cc903e73ce018e9df922d7f28fcc71ba3df4b8599cb89c7413b5
    """
    if output == "-" and sys.stdout.isatty():
        raise click.UsageError("-o - would print binary data to the terminal; pass a file with -o FILE, or redirect.")
    if output is not None and output != "-":
        _check_destination(Path(output), force)
    url, digest = (asset, None) if asset.startswith(("http://", "https://", "/")) else _find_asset(client, asset)
    opened, kind = _open_url(urljoin(f"{client.url}/", url))
    try:
        expected = digest or _etag_digest(opened)
        if output == "-":
            count, path = _copy(opened, sys.stdout.buffer, expected)[0], "-"
            sys.stdout.buffer.flush()
        else:
            count, path = _save(opened, output, expected, force)
    finally:
        opened.close()
    if as_json:
        say_json({"file": path, "bytes": count, "mimeType": kind}, err=path == "-")
    elif path != "-":
        say(f"{clean(path, 200)}: {clean(kind, 80)}, {format_size(count)}")


def _find_asset(client: Client, asset: str) -> tuple[str, str]:
    """The URL and the digest of the asset, from the host's listing."""
    match = _ASSET_NAME.fullmatch(asset)
    if match is None:
        raise click.UsageError(
            f"{clean(asset, 100)} is not a URL, a mediaRef or a digest prefix; `weftwork assets ls` lists assets."
        )
    if len(match[1]) < MIN_DIGITS:
        raise click.UsageError(f"{clean(asset, 100)} is too short: enter at least {MIN_DIGITS} digits of the digest.")
    urls: dict[str, str] = {}
    for each, _ in list_assets(client, None, None):
        digest, url = str(each.get("mediaRef")).rpartition(":")[2], each.get("url")
        if digest.startswith(match[1]) and isinstance(url, str):
            urls[digest] = url
            if len(match[1]) == 64 or len(urls) > 1:
                break
    if not urls:
        raise click.ClickException(
            f"no asset matches {clean(asset, 100)}; `weftwork assets ls --all` lists the assets of the tenant."
        )
    if len(urls) > 1:
        raise click.ClickException(f"several assets start with {match[1]}; enter more digits of the digest.")
    digest, url = urls.popitem()
    return url, digest


def _open_url(url: str) -> "tuple[OpenResponse, str]":
    parts = urlsplit(url)
    # The URL has its own token. The key is never sent to an address that came from elsewhere.
    connection = Transport(f"{parts.scheme}://{parts.netloc}", None, TIMEOUT)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    if not path.isascii() or not path.isprintable() or " " in path:
        raise click.UsageError(f"{clean(url, 200)} is not a valid URL.")
    opened = connection.open("GET", path, headers={"Accept": "*/*"})
    return opened, opened.media_type or "application/octet-stream"


def _etag_digest(opened: "OpenResponse") -> str | None:
    """The SHA-256 digest in the ETag header, if it has one."""
    match = _ETAG.fullmatch(opened.response.headers.get("ETag", ""))
    return match[1] if match is not None else None


def _copy(opened: "OpenResponse", into: BinaryIO, expected: str | None) -> tuple[int, str]:
    """Copy the body; returns its size and digest. Raises HostUnreachable if it is incomplete or the digest differs."""
    on_progress, clear = transfer_progress("received")
    digest, count = hashlib.sha256(), 0
    try:
        while True:
            try:
                chunk = opened.response.read(_CHUNK_BYTES)
            except (OSError, ValueError) as error:
                raise HostUnreachable(
                    f"the connection was lost after {format_size(count)}: {clean(str(error), 100)}; try again."
                ) from None
            if not chunk:
                break
            into.write(chunk)
            digest.update(chunk)
            count += len(chunk)
            on_progress(count)
    finally:
        clear()
    if opened.response.length:
        raise HostUnreachable(f"the connection was lost after {format_size(count)}; try again.")
    if expected is not None and digest.hexdigest() != expected:
        raise HostUnreachable("the download is corrupt: its SHA-256 digest is not that of the asset; try again.")
    return count, digest.hexdigest()


def _check_destination(path: Path, force: bool) -> None:
    if path.is_dir():
        raise click.UsageError(f"{clean(str(path), 200)} is a folder; pass a file with -o FILE.")
    if not force and path.exists():
        raise click.UsageError(
            f"{clean(str(path), 200)} already exists; overwrite it with --force, or choose another file with -o FILE."
        )


def _save(opened: "OpenResponse", output: str | None, expected: str | None, force: bool) -> tuple[int, str]:
    """Save atomically: the bytes go to a temporary file, which is renamed when it is complete."""
    folder = Path(output).parent if output is not None else Path()
    partial = folder / f".weftwork-asset-{os.getpid()}"
    try:
        with partial.open("xb") as file:
            count, digest = _copy(opened, file, expected)
        path = Path(output if output is not None else f"asset-{digest[:16]}")
        _check_destination(path, force)
        # link() fails if the file was created in the meantime.
        (os.replace if force else os.link)(partial, path)
    except OSError as error:
        target = clean(output or "the file", 200)
        raise click.ClickException(f"{target} cannot be written: {error.strerror or error}.") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
    return count, str(path)


@click.command()
@click.option("--dry-run", is_flag=True, help="Count the assets without deleting them.")
@click.option("--yes", is_flag=True, help="Skip the confirmation prompt. Without a terminal there is no prompt.")
@store_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text, without a confirmation prompt.")
def prune(dry_run: bool, yes: bool, location: StoreLocation, as_json: bool) -> None:
    """Delete the expired assets of all tenants that no run refers to, and files without an asset.

    A host also does this every ten minutes. Assets that a run refers to are never deleted; to free them, delete old
    runs with `weftwork runs prune` first. The host keeps running. If the command is interrupted, run it again to delete
    the rest.
    """
    with AdminSession(location) as operator:
        counts = operator.request("assets.count", {})
        summary = f"{count_of(counts['assets'], 'asset')}, {format_size(counts['bytes'])}"
        result = _NOTHING_PRUNED
        if not dry_run:
            if counts["assets"] and not yes and not as_json and sys.stdin.isatty():
                click.confirm(f"Delete {summary}?", abort=True, err=True)
            result = _prune_assets(operator, counts["assets"])
    if as_json:
        totals = {"freedBytes": result["freed"], "orphanFiles": result["strays"]}
        say_json({"count": counts["assets"], "deleted": result["deleted"], **totals, "dryRun": dry_run})
    elif dry_run:
        click.echo(f"{summary} would be deleted; nothing was deleted (--dry-run).")
    else:
        orphans = f"; also {count_of(result['strays'], 'file')} without an asset" if result["strays"] else ""
        click.echo(f"deleted {count_of(result['deleted'], 'asset')}, {format_size(result['freed'])}{orphans}.")


_NOTHING_PRUNED: Final = {"deleted": 0, "freed": 0, "strays": 0}


def _prune_assets(operator: AdminSession, total: int) -> dict[str, int]:
    """Delete in batches, so that the host can serve requests in between and progress can be shown."""
    in_place = sys.stderr.isatty()
    result, has_more = _NOTHING_PRUNED, True
    while has_more:
        answer: dict[str, Any] = operator.request("assets.prune", {})
        result = {name: count + answer[name] for name, count in result.items()}
        has_more = answer["more"]
        if in_place:
            click.echo(f"\r{result['deleted']} of {total}", err=True, nl=not has_more)
    return result


@click.group(cls=CommandGroup)
def assets() -> None:
    """List, upload, download and prune assets (images, audio and other files).

    All commands except prune talk to a weftwork host with an API key.
    """


assets.add_command(get)
assets.add_command(prune)


@assets.command()
@click.option(
    "--run", "run_id", metavar="RUN", shell_complete=suggest_runs, help="Only assets that this run refers to."
)
@click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, help="Maximum number of assets to list."
)
@click.option("--all", "every", is_flag=True, help="List all assets, regardless of --limit.")
@client_options
def ls(client: Client, as_json: bool, run_id: str | None, limit: int, every: bool) -> None:
    """List assets, newest first.

    An asset is kept while a run refers to it, and at least until the time in the last column (UTC). A terminal shows
    a prefix of each digest, which `weftwork assets get` accepts; otherwise the full mediaRef is printed.

    \b
    Examples:
      weftwork assets ls --run 01m7f5zzhp2z8y1fpzhf93nsbb
      weftwork assets ls --all --json
    """
    run_id = run_id and complete_run_id(client, run_id)
    pairs = list(list_assets(client, run_id, None if every else limit))
    rows, usage = [asset for asset, _ in pairs], pairs[-1][1] if pairs else None
    if as_json:
        say_json({"assets": rows, "usage": usage})
    elif rows:
        print_table(_COLUMNS, [_asset_row(asset) for asset in rows], cut=("type",))
        if line := _usage_text(usage):
            say(line, err=True)
    else:
        say("no assets." if run_id is None else "no assets of this run.", err=True)


@assets.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--name", metavar="TEXT", help="File name for downloads.  [default: the name of FILE]")
@click.option("--type", "media_type", metavar="TYPE", help="Media type, such as image/png.  [default: from the name]")
@click.option(
    "--days",
    type=click.IntRange(1),
    metavar="N",
    help="Days to keep the asset if no run refers to it.  [default: set by the host]",
)
@client_options
def put(
    client: Client, as_json: bool, files: tuple[str, ...], name: str | None, media_type: str | None, days: int | None
) -> None:
    """Upload files to a host and print their mediaRefs, one per line.

    FILE may be - for standard input. Run inputs and messages to models refer to an asset by its mediaRef. All files are
    checked before the first upload, and the digest of each upload is verified. If the bytes do not match the media
    type, the host stores the file as application/octet-stream and the command prints a warning.

    \b
    Examples:
      weftwork assets put invoice.png
      weftwork assets put report.pdf --days 30 --json
      pandoc notes.md -t html | weftwork assets put - --name notes.html
    """
    if name is not None and len(files) > 1:
        raise click.UsageError("--name requires exactly one FILE.")
    if files.count("-") > 1:
        raise click.UsageError("- (standard input) can be given only once.")
    uploaded: list[dict[str, Any]] = []
    with ExitStack() as stack:
        uploads = [
            stack.enter_context(spool_standard_input(media_type, name)) if file == "-" else Upload(file, media_type)
            for file in files
        ]
        for file, upload in zip(files, uploads, strict=True):
            answer = upload_asset(client, upload, name, days)
            uploaded.append({"file": file, **answer})
            if not as_json:
                say(clean(answer["mediaRef"], 200))
                until = units.format_time(answer.get("expiresAt"))
                expiry = f", kept until {until} UTC, or longer while a run refers to it" if until else ""
                kind = clean(answer.get("mimeType", "?"), 80)
                say(f"{clean(upload.path, 200)}: {kind}, {format_size(upload.size)}{expiry}", err=True)
    if as_json:
        say_json({"assets": uploaded})


_SHORT_DIGEST: Final = 16
"""Digits of a digest shown on a terminal, enough to distinguish assets."""
_COLUMNS: Final = ("asset", "type", "bytes", "age", "runs", "kept until")


def _asset_row(asset: dict[str, Any]) -> list[str]:
    """The cells of `_COLUMNS`. Names and times are complete if standard output is not a terminal."""
    at_terminal = sys.stdout.isatty()
    ref, count = str(asset.get("mediaRef", "?")), asset.get("bytes")
    created = units.parse_time(asset.get("createdAt"))
    return [
        ref.rpartition(":")[2][:_SHORT_DIGEST] if at_terminal else ref,
        str(asset.get("mimeType", "?")),
        format_size(count) if at_terminal and isinstance(count, int) else str(count),
        units.format_duration((datetime.now(UTC) - created).total_seconds() * 1000) if created is not None else "",
        str(asset.get("runs", "?")),
        (units.format_recent_time if at_terminal else units.format_time)(asset.get("heldUntil")),
    ]


def _usage_text(usage: Any) -> str | None:
    """A line with the number and total size of the tenant's assets; None if the host does not report it."""
    if not is_object(usage) or not isinstance(usage.get("bytes"), int):
        return None
    quota = usage.get("quota")
    used = usage.get("quotaUsed", usage["bytes"])
    # The quota counts test and live keys together, the list shows those of one kind.
    is_sum = isinstance(used, int) and used != usage["bytes"]
    both = f"; of both test and live keys {format_size(used)}" if is_sum else ""
    of = f"{both} of {format_size(quota)}" if isinstance(quota, int) else ""
    count = usage.get("assets", "?")
    return f"total: {count} asset{'' if count == 1 else 's'}, {format_size(usage['bytes'])}{of}"
