"""Rewrites almost-JSON as JSON, in one pass. Only unambiguous errors are repaired.

Repaired: a comma before a closing bracket; single and typographic quotes; member names without quotes; True, False,
None and undefined; `//` and `/* */` comments; line breaks and tabs inside a string; and, only if the model ended its
answer, closing brackets that are missing at the very end, after a complete value.

Not repaired, because the intent would be a guess: missing or doubled commas and colons, strings without quotes or
without an end, an apostrophe inside single quotes, unknown escapes, numbers that are not JSON, NaN, mismatched
brackets, an ellipsis, a value that is missing after a last comma. Duplicate member names are left for the strict
decoder to reject. No content is added, and a value that is already JSON stays the same value.
"""

import re
from typing import Final

from weftwork.protocol.json.decoder import MAX_DEPTH

MAX_REPAIRED: Final = 262_144
"""Characters of a value. A longer value is not repaired."""

_SPACE: Final = re.compile(r"(?:[ \t\n\r]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_WORD: Final = re.compile(r"[^\W\d][\w$-]*|\$[\w$-]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.+-])")
_CLOSING_QUOTES: Final = {
    '"': '"',
    "'": "'",
    "\u201c": "\u201d",
    "\u201d": "\u201d",
    "\u201e": "\u201c\u201d",
    "\u2018": "\u2019",
}
_QUOTED_BODIES: Final = {
    mark: re.compile(rf"((?:[^\\{ends}]++|\\.)*+)[{ends}]", re.DOTALL) for mark, ends in _CLOSING_QUOTES.items()
}
_SPECIAL: Final = re.compile(r"\\(.)|[\"\x00-\x1f]", re.DOTALL)
_LITERALS: Final = {
    "true": "true",
    "false": "false",
    "null": "null",
    "True": "true",
    "False": "false",
    "None": "null",
    "undefined": "null",
}
_CLOSERS: Final = {"{": "}", "[": "]"}


def repair(text: str, *, clean: bool = False) -> str | None:
    """rel-02 (RFC 0032 B.6): the object or array at the start of the text, rewritten as JSON; None if it cannot be
    repaired.

    Text behind the value is ignored. `clean` states that the model ended its answer, so missing closing brackets were
    forgotten and are added. A truncated answer is never completed. Reads each character once. The strict decoder must
    still check the result.
    """
    return _RepairPass(text, clean).run() if text.startswith(("{", "[")) else None


class _RepairPass:
    """One pass over a text. `_expected` is the state: which token may come next."""

    def __init__(self, text: str, clean: bool) -> None:
        self._text = text
        self._at = 0
        self._clean = clean
        self._out: list[str] = []
        self._open: list[str] = []
        self._expected = "value"

    def run(self) -> str | None:
        while self._expected != "nothing":
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at > MAX_REPAIRED:
                return None
            if self._at >= len(self._text):
                return self._finish()
            if not self._step(self._text[self._at]):
                return None
        return "".join(self._out)

    def _finish(self) -> str | None:
        """Handle the end of the text while brackets are open."""
        if not self._clean or self._expected != "more":
            return None
        return "".join([*self._out, *(_CLOSERS[each] for each in reversed(self._open))])

    def _step(self, mark: str) -> bool:
        if mark in "}]":
            return self._close(mark)
        match self._expected:
            case "more":
                if mark != ",":
                    return False
                return self._put(",", 1, "name after comma" if self._open[-1] == "{" else "value after comma")
            case "colon":
                return mark == ":" and self._put(":", 1, "value")
            case "name" | "name after comma":
                return self._text_or_word(mark, "colon", None)
            case _:
                return self._value(mark)

    def _value(self, mark: str) -> bool:
        if mark in _CLOSERS:
            self._open.append(mark)
            return len(self._open) <= MAX_DEPTH and self._put(mark, 1, "name" if mark == "{" else "first value")
        if number := _NUMBER.match(self._text, self._at):
            return self._put(number[0], len(number[0]), "more")
        return self._text_or_word(mark, "more", _LITERALS)

    def _text_or_word(self, mark: str, due: str, words: dict[str, str] | None) -> bool:
        """Write a quoted string, or a bare word. Without `words`, a bare word is a member name; otherwise it must be
        one of `words`."""
        if mark in _QUOTED_BODIES:
            body = _QUOTED_BODIES[mark].match(self._text, self._at + 1)
            written = None if body is None else _json_string(body[1])
            return body is not None and written is not None and self._put(written, body.end() - self._at, due)
        word = _WORD.match(self._text, self._at)
        if word is None:
            return False
        written = f'"{word[0]}"' if words is None else words.get(word[0])
        return written is not None and self._put(written, len(word[0]), due)

    def _close(self, mark: str) -> bool:
        if self._expected not in ("more", "name", "first value", "name after comma", "value after comma"):
            return False
        if not self._open or _CLOSERS[self._open.pop()] != mark:
            return False
        if self._expected.endswith("comma"):
            self._out.pop()
        return self._put(mark, 1, "more" if self._open else "nothing")

    def _put(self, written: str, length: int, due: str) -> bool:
        self._out.append(written)
        self._at += length
        self._expected = due
        return True


def _json_string(body: str) -> str | None:
    """The body of a quoted string as a JSON string. Escapes are left for the decoder to check, except an escaped
    apostrophe, which is unescaped."""
    if "\\\n" in body or "\\\r" in body:
        return None
    return f'"{_SPECIAL.sub(_escape_match, body)}"'


def _escape_match(match: re.Match[str]) -> str:
    if match[1] is not None:
        return "'" if match[1] == "'" else match[0]
    return '\\"' if match[0] == '"' else f"\\u{ord(match[0]):04x}"
