"""`name=value` of the command line: the value is JSON if it reads as JSON, a file behind @, else text."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from weftwork.cli.console.text import clean
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.values import is_object

MAX_FILE: Final = 64 * 2**20


def parse_pairs(option: str, given: Sequence[str], whole: bool = True) -> dict[str, Any]:
    """The members that were given, in order: a later one wins. With `whole`, @FILE is an object of members."""
    found: dict[str, Any] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if whole and text.startswith("@"):
            where = f"{option} @{clean(text[1:], 200)}"
            try:
                document = decode(read_file(option, text[1:]))
            except ClientFault as fault:
                raise click.UsageError(f"{where}: {fault.message}") from None
            if not is_object(document):
                raise click.UsageError(f'{where} must hold a JSON object such as {{"name": "value"}}.')
            found |= document
        elif not name or not sign:
            form = "NAME=VALUE or @FILE" if whole else "NAME=VALUE"
            raise click.UsageError(f"{option} {clean(text, 60)} must look like {form}.")
        elif value.startswith("@"):
            found[name] = json_or_text(f"{option} {clean(text, 60)}", read_file(option, value[1:]))
        else:
            found[name] = json_or_text(f"{option} {clean(text, 60)}", value.encode("utf-8", "surrogateescape"))
    return found


def json_or_text(where: str, data: bytes) -> Any:
    """The value if it reads as JSON, else the text. Raises UsageError, which says `where`, for neither."""
    try:
        return decode(data)
    except ClientFault as fault:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise click.UsageError(f"{where} is not valid UTF-8.") from None
        if _is_json(text):
            # Sent as text it would be something else than what was written.
            raise click.UsageError(f"{where}: {fault.message}") from None
        return text


def _is_json(text: str) -> bool:
    """Also what the strict decoder refuses, such as an object that repeats a member."""

    def no_number(name: str) -> Any:
        raise ValueError(name)

    try:
        json.loads(text, parse_constant=no_number)
    except (ValueError, RecursionError):
        return False
    return True


def read_file(option: str, name: str) -> bytes:
    """What stands in the file that an option names; `-` is standard input."""
    data = read_or_refuse(name, MAX_FILE, f"{option}: ")
    if len(data) > MAX_FILE:
        raise click.UsageError(f"{option}: {clean(name, 200)} is larger than {MAX_FILE // 2**20} MiB.")
    return data


def read_or_refuse(name: str, most: int, option: str = "") -> bytes:
    """As `read_up_to`. Raises UsageError for what cannot be read."""
    try:
        return read_up_to(name, most)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no such name"
        raise click.UsageError(f"{option}{clean(name, 200)} cannot be read: {why}.") from None


def read_up_to(name: str, most: int) -> bytes:
    """At most one byte more than `most`; `-` is standard input."""
    if name == "-":
        return sys.stdin.buffer.read(most + 1)
    with Path(name).open("rb") as file:
        return file.read(most + 1)
