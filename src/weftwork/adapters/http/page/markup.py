"""Builds HTML and escapes text. Every page is built by `element`.

`element` escapes every child and attribute that is plain text; only `Markup`, which this module created, is inserted
unescaped.

Control characters, bidirectional overrides and characters without width can make a question look like a different
one. They are shown as marks such as ⟦U+202E⟧, and as escapes in JSON that can be edited, so no character is lost.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

HIDDEN_CHARACTERS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\uffff\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
"""Control characters except tab and line feed, bidirectional controls, characters without width, lone surrogates, tags
and noncharacters.

The joiners U+200C and U+200D are not included: some scripts and emoji need them, and they hide nothing."""
CUT_MARK: Final = " […]"


def mark_hidden(text: str) -> str:
    """The text with each hidden character as a mark such as ⟦U+202E⟧. CR LF becomes a line feed."""
    return HIDDEN_CHARACTERS.sub(lambda match: f"\u27e6U+{ord(match[0]):04X}\u27e7", text.replace("\r\n", "\n"))


def json_text(value: Any, indent: int | None = 2) -> str:
    """The value as JSON with hidden characters escaped, or "(no JSON)" if it cannot be encoded."""
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=False, default=repr)
    except (ValueError, TypeError, RecursionError):
        return "(no JSON)"
    return HIDDEN_CHARACTERS.sub(_json_escape, text)


def shorten(text: str, limit: int) -> str:
    """The text, or its first `limit` characters and CUT_MARK."""
    return text if len(text) <= limit else text[:limit] + CUT_MARK


def _json_escape(match: re.Match[str]) -> str:
    # JSON escapes are UTF-16 code units: a character above U+FFFF becomes a surrogate pair (RFC 8259, section 7).
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


VOID_ELEMENTS: Final = frozenset({"input", "meta"})
_ENTITIES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "`": "&#96;"})


class Markup(str):
    """A str that is HTML and needs no escaping. Created only from trusted constants and by `element` and `join`."""

    __slots__ = ()


Child = str | None
Attributes = Mapping[str, str | bool | None]


def escape(text: str) -> str:
    """Escape text for use as element content or as a quoted attribute value."""
    return mark_hidden(text).translate(_ENTITIES)


def element(name: str, attributes: Attributes, *children: Child) -> Markup:
    """One element with escaped attributes and children.

    An attribute with the value True is written without a value; one with None or False is left out.
    """
    rendered = "".join(
        f" {key}" if value is True else f' {key}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in VOID_ELEMENTS:
        return Markup(f"<{name}{rendered}>")
    return Markup(f"<{name}{rendered}>{join(children)}</{name}>")


def join(children: Iterable[Child]) -> Markup:
    """Concatenate the children. Plain text is escaped, None is left out."""
    return Markup("".join(each if isinstance(each, Markup) else escape(each) for each in children if each is not None))
