"""`weftwork assets get`: the bytes of an asset, by its URL or by its mediaRef."""

import contextlib
import hashlib
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final
from urllib.parse import urljoin, urlsplit

import click

from weftwork.cli.client import Client, Unreachable
from weftwork.cli.connect import connected
from weftwork.cli.plain import say, shown
from weftwork.cli.progress import progress, size

if TYPE_CHECKING:
    from weftwork.cli.connection import Opened

TIMEOUT: Final = 30
_PIECE: Final = 262_144
LEAST: Final = 8
"""Digits that the beginning of a digest has at least."""
_PART: Final = re.compile(r"(?:weftwork-asset:)?([0-9a-f]{1,64})")
_DIGEST: Final = re.compile(r'"([0-9a-f]{64})"')


@click.command()
@click.argument("asset", metavar="ASSET")
@click.option("-o", "--output", metavar="FILE", help="Where to write it; - is standard output.  [default: its digest]")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@connected
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
        _check(Path(output), force)
    url, digest = (asset, None) if asset.startswith(("http://", "https://", "/")) else _found(client, asset)
    opened, kind = _opened(urljoin(f"{client.url}/", url))
    try:
        expected = digest or _named(opened)
        if output == "-":
            count, place = _pour(opened, sys.stdout.buffer, expected)[0], "-"
            sys.stdout.buffer.flush()
        else:
            count, place = _save(opened, output, expected, force)
    finally:
        opened.close()
    if as_json:
        told = {"file": place, "bytes": count, "mimeType": kind}
        say(json.dumps(told, indent=2), err=place == "-")
    elif place != "-":
        say(f"{shown(place, 200)}: {shown(kind, 80)}, {size(count)}")


def _found(client: Client, asset: str) -> tuple[str, str]:
    """The URL and the digest of an asset that is listed."""
    from weftwork.cli.asset_lines import listed

    part = _PART.fullmatch(asset)
    if part is None:
        raise click.UsageError(f"{shown(asset, 100)} is no URL, no mediaRef and no beginning of a digest.")
    if len(part[1]) < LEAST:
        raise click.UsageError(f"{shown(asset, 100)} is too short: a digest begins with {LEAST} digits at least.")
    found: dict[str, str] = {}
    for each, _ in listed(client, None, None):
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


def _opened(url: str) -> "tuple[Opened, str]":
    from weftwork.cli.connection import Connection

    parts = urlsplit(url)
    # Its token is all that it needs: the key goes to no address that others have written.
    connection = Connection(f"{parts.scheme}://{parts.netloc}", None, TIMEOUT)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    if not path.isascii() or not path.isprintable() or " " in path:
        raise click.UsageError(f"{shown(url, 200)} is no URL.")
    opened = connection.open("GET", path, {}, None, {"Accept": "*/*"})
    return opened, opened.kind or "application/octet-stream"


def _named(opened: "Opened") -> str | None:
    """The digest, where the entity tag is one."""
    found = _DIGEST.fullmatch(opened.response.headers.get("ETag", ""))
    return found[1] if found is not None else None


def _pour(opened: "Opened", into: BinaryIO, expected: str | None) -> tuple[int, str]:
    """How many bytes have come, and their digest. Raises Unreachable if they are not all, or not those."""
    heard, clear = progress("received")
    seen, count = hashlib.sha256(), 0
    try:
        while True:
            try:
                piece = opened.response.read(_PIECE)
            except (OSError, ValueError) as error:
                raise Unreachable(f"the connection broke after {size(count)}: {shown(str(error), 100)}.") from None
            if not piece:
                break
            into.write(piece)
            seen.update(piece)
            count += len(piece)
            heard(count)
    finally:
        clear()
    if opened.response.length:
        raise Unreachable(f"the connection broke after {size(count)}; try again.")
    if expected is not None and seen.hexdigest() != expected:
        raise Unreachable("the bytes that came are not those of the asset; try again.")
    return count, seen.hexdigest()


def _check(place: Path, force: bool) -> None:
    if place.is_dir():
        raise click.UsageError(f"{shown(str(place), 200)} is a folder; name a file with -o.")
    if not force and place.exists():
        raise click.UsageError(f"{shown(str(place), 200)} is there; write over it with --force, or name another file.")


def _save(opened: "Opened", output: str | None, expected: str | None, force: bool) -> tuple[int, str]:
    """Whole or not at all: under another name until all of it is there."""
    folder = Path(output).parent if output is not None else Path()
    made = folder / f".weftwork-asset-{os.getpid()}"
    try:
        with made.open("xb") as file:
            count, digest = _pour(opened, file, expected)
        place = Path(output if output is not None else f"asset-{digest[:16]}")
        _check(place, force)
        _move(made, place, force)
    except OSError as error:
        where = shown(output or "the file", 200)
        raise click.ClickException(f"{where} cannot be written: {error.strerror or error}.") from None
    finally:
        with contextlib.suppress(OSError):
            made.unlink()
    return count, str(place)


def _move(made: Path, place: Path, force: bool) -> None:
    if force:
        made.replace(place)
        return
    # Fails if somebody has made it meanwhile.
    os.link(made, place)
