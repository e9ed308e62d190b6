"""NAME=VALUE options: a value is JSON if it parses as JSON, the content of a file after `@`, otherwise text."""

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


def parse_pairs(option: str, texts: Sequence[str], whole: bool = True) -> dict[str, Any]:
    """The values by name; a later one wins. With `whole`, @FILE adds all members of a JSON object."""
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if whole and text.startswith("@"):
            where = f"{option} @{clean(text[1:], 200)}"
            try:
                document = decode(read_file(option, text[1:]))
            except ClientFault as fault:
                raise click.UsageError(f"{where}: {fault.message}") from None
            if not is_object(document):
                raise click.UsageError(f'{where} must contain a JSON object such as {{"name": "value"}}.')
            values |= document
        elif not name or not equals:
            form = "NAME=VALUE or @FILE" if whole else "NAME=VALUE"
            raise click.UsageError(f"{option} {clean(text, 60)} must have the form {form}.")
        elif value.startswith("@"):
            values[name] = json_or_text(f"{option} {clean(text, 60)}", read_file(option, value[1:]))
        else:
            values[name] = json_or_text(f"{option} {clean(text, 60)}", value.encode("utf-8", "surrogateescape"))
    return values


def json_or_text(where: str, data: bytes) -> Any:
    """The value if the data parses as JSON, otherwise the text.

    Raises UsageError, with `where` in its message, if the data is not UTF-8, or JSON that the strict decoder refuses.
    """
    try:
        return decode(data)
    except ClientFault as fault:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise click.UsageError(f"{where} is not valid UTF-8.") from None
        if _is_json(text):
            # Sending it as text would change its meaning.
            raise click.UsageError(f"{where}: {fault.message}") from None
        return text


def _is_json(text: str) -> bool:
    """Whether a lenient decoder accepts the text, for example an object with a duplicate member."""

    def no_number(name: str) -> Any:
        raise ValueError(name)

    try:
        json.loads(text, parse_constant=no_number)
    except (ValueError, RecursionError):
        return False
    return True


def read_file(option: str, name: str) -> bytes:
    """The content of the file of an option; `-` is standard input. Raises UsageError if it is too large."""
    data = read_or_refuse(name, MAX_FILE, f"{option}: ")
    if len(data) > MAX_FILE:
        raise click.UsageError(f"{option}: {clean(name, 200)} is larger than {MAX_FILE // 2**20} MiB.")
    return data


def read_or_refuse(name: str, max_bytes: int, option: str = "") -> bytes:
    """As `read_up_to`. Raises UsageError if the file cannot be read."""
    try:
        return read_up_to(name, max_bytes)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the name is not valid"
        raise click.UsageError(f"{option}{clean(name, 200)} cannot be read: {reason}.") from None


def read_up_to(name: str, max_bytes: int) -> bytes:
    """At most `max_bytes` + 1 bytes, so that the caller can detect a larger file; `-` is standard input."""
    if name == "-":
        return sys.stdin.buffer.read(max_bytes + 1)
    with Path(name).open("rb") as file:
        return file.read(max_bytes + 1)
