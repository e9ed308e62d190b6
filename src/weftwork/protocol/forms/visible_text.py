"""Text as a person has to see it: characters that hide or reorder text are shown, and long texts are cut.

Control characters, bidirectional overrides and characters without width can make a question look like a different
one. They are shown as marks such as ⟦U+202E⟧, and as escapes in JSON that can be edited, so no character is lost.
"""

import json
import re
from typing import Any, Final

HIDDEN_CHARACTERS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\uffff\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
"""Control characters except tab and line feed, bidirectional controls, characters without width, lone surrogates, tags
and noncharacters.

The joiners U+200C and U+200D are not included: some scripts and emoji need them, and they hide nothing."""
_WITHOUT_UNSEEN: Final = str.maketrans("", "", "\u200c\u200d\u2800\ufe0e\ufe0f")
"""Joiners, the empty Braille pattern and variation selectors: alone, they show nothing."""
CUT_MARK: Final = " […]"
_CAMEL: Final = re.compile(r"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]+)*")
_SNAKE: Final = re.compile(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*")
_WORD_START: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_-]")


def mark_hidden(text: str) -> str:
    """The text with each hidden character as a mark such as ⟦U+202E⟧. CR LF becomes a line feed."""
    return HIDDEN_CHARACTERS.sub(lambda match: f"\u27e6U+{ord(match[0]):04X}\u27e7", text.replace("\r\n", "\n"))


def is_blank(text: str) -> bool:
    """Whether a person sees nothing of the text."""
    return not text.translate(_WITHOUT_UNSEEN).strip()


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


def readable_name(name: str) -> str:
    """The name of a member as words: `netAmount` and `net_amount` become "Net amount". Other names stay as they are."""
    if not (_CAMEL.fullmatch(name) or _SNAKE.fullmatch(name)):
        return name
    words = " ".join(each.lower() for each in _WORD_START.split(name) if each)
    return words[:1].upper() + words[1:]


def _json_escape(match: re.Match[str]) -> str:
    # JSON escapes are UTF-16 code units: a character above U+FFFF becomes a surrogate pair (RFC 8259, section 7).
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
