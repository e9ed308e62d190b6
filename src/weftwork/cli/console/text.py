"""Output of untrusted texts: ids, names, messages and values of a host, and file names, made printable."""

import json
import os
import sys
import unicodedata
from collections.abc import Iterable
from typing import Any, Final

import click

MAX_LENGTH: Final = 1024
"""Maximum number of characters shown of one text."""
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
"""ASCII replacements of the drawing characters, for encodings without them."""


def clean(text: object, most: int = MAX_LENGTH) -> str:
    """The text without line breaks and control characters; a value that is not a string as JSON.

    The result may contain rich markup: pass it to rich in a `rich.text.Text` or through `rich.markup.escape`.
    """
    return printable(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False), most)


def say(text: str, err: bool = False, ends_line: bool = True) -> None:
    """Print a line, or its beginning without `ends_line`. Characters that the stream's encoding lacks are replaced."""
    # A replaced stream, as in tests, may have no encoding.
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    click.echo(fit_encoding(text, encoding), err=err, nl=ends_line)


def say_lines(lines: Iterable[str], err: bool = False) -> None:
    for line in lines:
        say(line, err)


def fit_encoding(text: str, encoding: str) -> str:
    """The text in characters of the encoding: drawing characters become ASCII, others are backslash-escaped."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_ASCII_FALLBACKS)
    return text.encode(encoding, "backslashreplace").decode(encoding)


def say_json(document: Any, err: bool = False) -> None:
    """Print a document as indented JSON in ASCII."""
    say(json.dumps(document, indent=2), err)


def say_document(document: Any, as_json: bool, lines: Iterable[str]) -> None:
    """Print the document as JSON, or its text form."""
    say_lines([json.dumps(document, indent=2)] if as_json else lines)


def json_line(document: Any) -> str:
    """The document as one line of JSON in ASCII, which cannot contain control characters."""
    return json.dumps(document, separators=(",", ":"))


def can_draw() -> bool:
    """Whether standard output is a terminal with cursor control. If so, its encoding errors are made harmless."""
    if not sys.stdout.isatty() or os.environ.get("TERM", "").lower() in ("dumb", "unknown"):
        return False
    if (reconfigure := getattr(sys.stdout, "reconfigure", None)) is not None:
        # Names may contain characters that the terminal's encoding lacks.
        reconfigure(errors="backslashreplace")
    return True


MAX_LABEL: Final = 60
_ZERO_WIDTH: Final = ("Mn", "Me")
_WIDE: Final = ("W", "F")


def printable(text: str, most: int = MAX_LABEL) -> str:
    """The text on one line: non-printable characters are escaped, and a long text is truncated to `most` characters."""
    cut = text[: most - 1] + "…" if len(text) > most else text
    if cut.isprintable():
        return cut
    return "".join(
        each if each.isprintable() else " " if unicodedata.category(each) == "Zs" else f"\\u{{{ord(each):x}}}"
        for each in cut
    )


def display_width(text: str) -> int:
    """The number of terminal columns of the text."""
    return sum(
        0 if unicodedata.category(each) in _ZERO_WIDTH else 2 if unicodedata.east_asian_width(each) in _WIDE else 1
        for each in text
    )
