"""Texts that others wrote, made safe to print: ids, names, messages and values of a host, names of files."""

import json
import sys
from typing import Final

import click

MOST: Final = 1024
"""Characters of one text that are shown."""


def shown(text: object, most: int = MOST) -> str:
    """Text that stays on its line and moves no cursor; what is no text is shown as JSON.

    What rich prints goes into a `rich.text.Text`, or through `rich.markup.escape` after this.
    """
    # Imported late: `weftwork --help` needs none of it.
    from weftwork.protocol.drawing_sketch import plain

    return plain(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False), most)


def say(text: str, err: bool = False) -> None:
    """Print a line, also where the encoding of the terminal lacks a character."""
    encoding = (sys.stderr if err else sys.stdout).encoding
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding), err=err)
