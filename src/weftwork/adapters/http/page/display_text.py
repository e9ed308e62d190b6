"""Text that cannot deceive: what a reader would not see is written out.

Characters that steer a terminal, turn the direction of text around or take no space could make a question look like
another one. On the page they stand as marks, and in JSON that is edited as escapes, so that nothing is lost.
"""

import json
import re
from typing import Any, Final

HIDDEN_CHARACTERS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\uffff\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
"""Controls but tab and line feed, turns of direction, what has no width, lone surrogates, tags and non-characters.

The joiners U+200C and U+200D are left: scripts and emoji need them, and they hide nothing."""
CUT_MARK: Final = " […]"


def mark_hidden(text: str) -> str:
    """The text with a mark for each hidden character. Line ends become line feeds."""
    return HIDDEN_CHARACTERS.sub(_hidden_mark, text.replace("\r\n", "\n"))


def json_text(value: Any, indent: int | None = 2) -> str:
    """The value as JSON to read and edit, in which hidden characters stand as escapes."""
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=False, default=repr)
    except (ValueError, TypeError, RecursionError):
        return "(no JSON)"
    return HIDDEN_CHARACTERS.sub(_json_escape, text)


def shorten(text: str, limit: int) -> str:
    """The text, or its beginning with a sign that it was cut."""
    return text if len(text) <= limit else text[:limit] + CUT_MARK


def _hidden_mark(match: re.Match[str]) -> str:
    return f"\u27e6U+{ord(match[0]):04X}\u27e7"


def _json_escape(match: re.Match[str]) -> str:
    # As two escapes beyond the first plane, which is what JSON knows.
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
