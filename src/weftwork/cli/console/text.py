"""Texts that others wrote, made safe to print: ids, names, messages and values of a host, names of files."""

import json
import os
import sys
import unicodedata
from collections.abc import Iterable
from typing import Any, Final

import click

MAX_LENGTH: Final = 1024
"""Characters of one text that are shown."""
_ASCII_FALLBACKS: Final = str.maketrans(
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


def clean(text: object, most: int = MAX_LENGTH) -> str:
    """Text that stays on its line and moves no cursor; what is no text is shown as JSON.

    What rich prints goes into a `rich.text.Text`, or through `rich.markup.escape` after this.
    """
    return printable(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False), most)


def similar_names(name: str, known: Iterable[str], listing: str) -> str:
    """What may have been meant, or the command that lists what there is."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), 3)
    return f"there is {clean(', '.join(close))}" if close else f"`weftwork {listing}` lists what there is"


def say(text: str, err: bool = False) -> None:
    """Print a line, also where the encoding of the terminal lacks a character."""
    # A stream that a caller put there may have none.
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    click.echo(fit_encoding(text, encoding), err=err)


def say_lines(lines: Iterable[str], err: bool = False) -> None:
    for line in lines:
        say(line, err)


def fit_encoding(text: str, encoding: str) -> str:
    """The text in characters that the encoding has: lines and arrows of ours as others like them, the rest spelled."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_ASCII_FALLBACKS)
    return text.encode(encoding, "backslashreplace").decode(encoding)


def say_json(document: Any, err: bool = False) -> None:
    """Print a document, indented and in ASCII."""
    say(json.dumps(document, indent=2), err)


def say_document(document: Any, as_json: bool, lines: Iterable[str]) -> None:
    """Print what a command shows: the document as JSON, or lines that say the same to people."""
    say_lines([json.dumps(document, indent=2)] if as_json else lines)


def json_line(document: Any) -> str:
    """On one line, in ASCII: nothing in it can move a cursor."""
    return json.dumps(document, separators=(",", ":"))


def can_draw() -> bool:
    """Whether standard output is a terminal that can be drawn on; if so, it takes every text from now on."""
    if not sys.stdout.isatty() or os.environ.get("TERM", "").lower() in ("dumb", "unknown"):
        return False
    if (reconfigure := getattr(sys.stdout, "reconfigure", None)) is not None:
        # Names may hold characters that the terminal's encoding lacks.
        reconfigure(errors="backslashreplace")
    return True


MAX_LABEL: Final = 60
_ZERO_WIDTH: Final = ("Mn", "Me")
_WIDE: Final = ("W", "F")


def printable(text: str, most: int = MAX_LABEL) -> str:
    """Text that stays on its line and moves no cursor: what is not printable is spelled out, what is long is cut."""
    cut = text[: most - 1] + "…" if len(text) > most else text
    if cut.isprintable():
        return cut
    return "".join(
        each if each.isprintable() else " " if unicodedata.category(each) == "Zs" else f"\\u{{{ord(each):x}}}"
        for each in cut
    )


def display_width(text: str) -> int:
    """How many columns a terminal needs for it."""
    return sum(
        0 if unicodedata.category(each) in _ZERO_WIDTH else 2 if unicodedata.east_asian_width(each) in _WIDE else 1
        for each in text
    )
