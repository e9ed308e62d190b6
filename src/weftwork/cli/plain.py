"""Texts that others wrote, made safe to print: ids, names, messages and values of a host, names of files."""

import json
import sys
from typing import Final

import click

MOST: Final = 1024
"""Characters of one text that are shown."""
_SIGNS: Final = str.maketrans(
    {
        **dict.fromkeys("├┤┼╮╭┬╯╰┴", "+"),
        "│": "|",
        "─": "-",
        "●": "*",
        "←": "<-",
        "→": "->",
        "↺": "<<",
        "…": "...",
    }
)
"""What our own pictures are made of, for encodings that lack it."""


def shown(text: object, most: int = MOST) -> str:
    """Text that stays on its line and moves no cursor; what is no text is shown as JSON.

    What rich prints goes into a `rich.text.Text`, or through `rich.markup.escape` after this.
    """
    # Imported late: `weftwork --help` needs none of it.
    from weftwork.protocol.drawing_sketch import plain

    return plain(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False), most)


def say(text: str, err: bool = False) -> None:
    """Print a line, also where the encoding of the terminal lacks a character."""
    # A stream that a caller put there may have none.
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    click.echo(printable(text, encoding), err=err)


def printable(text: str, encoding: str) -> str:
    """The text in characters that the encoding has: lines and arrows of ours as others like them, the rest spelled."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_SIGNS)
    return text.encode(encoding, "backslashreplace").decode(encoding)
