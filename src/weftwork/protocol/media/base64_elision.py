"""Leaves long runs of base64 out of texts that people read.

Theory of operation. A model may write an image as text, and a document may contain one. Megabytes of base64 bury the
readable text. In a stream, base64 is recognised by what precedes it, as in an envelope or a data URL, so that no other
text loses a character. In a finished document it is recognised by its length alone.
"""

import re
from functools import cache
from string import ascii_letters, digits
from typing import Final

MAX_STREAMED_RUN: Final = 512
"""Characters of a run that a stream shows."""
ELIDED_PREFIX: Final = 64
"""Characters of a run that stay in a text."""

_LETTERS: Final = ascii_letters + digits + "+/=_-"
_ESCAPED: Final = _LETTERS + "\\\r\n"
"""The same as models write it: in lines, and in JSON, where a slash or the end of a line may have a backslash."""
_BASE64_CONTEXT: Final = re.compile(r"base(?:64|\\u0036\\u0034)[^A-Za-z0-9+/=_-]{1,16}$")
"""Behind the name of a member in whatever quotes, or behind that of a data URL."""
_NAME: Final = "base64"
_ESCAPED_NAME: Final = "base\\u0036\\u0034"
_TAIL: Final = 32
"""Characters before a run that are looked at."""


class Base64Elider:
    """media-14 (RFC 0055, reading): shows the pieces of one stream, without the rest of any run that is too long.

    A piece goes out for each that comes in, and what it shows depends on nothing that comes later. Where the pieces
    are cut makes no difference to what is shown in all.
    """

    def __init__(self, most: int = MAX_STREAMED_RUN) -> None:
        self._max_run = most
        self._run_length = 0
        """Characters of the run that the last piece ended in."""
        self._is_eliding = False
        self._tail = ""

    def feed(self, piece: str) -> str:
        """The piece as it is shown; as long as it was, or shorter."""
        if not self._is_eliding and _NAME not in (near := self._tail + piece) and _ESCAPED_NAME not in near:
            # Most texts never speak of it. Whatever run this one ends in was not to be cut.
            self._run_length, self._tail = 0, near[-_TAIL:]
            return piece
        parts: list[str] = []
        at = 0
        for start, end in self._spans(piece):
            if start > 0 or not self._run_length:
                near = piece[max(0, start - _TAIL) : start]
                self._is_eliding = _BASE64_CONTEXT.search((self._tail + near)[-_TAIL:]) is not None
                self._run_length = 0
            kept = start + max(self._max_run - self._run_length, 0) if self._is_eliding else end
            parts.append(piece[at : min(end, kept)])
            self._run_length += end - start
            at = end
        if at < len(piece):
            self._run_length, self._is_eliding = 0, False
            parts.append(piece[at:])
        self._tail = (self._tail + piece)[-_TAIL:]
        return "".join(parts)

    def _spans(self, piece: str) -> list[tuple[int, int]]:
        """Runs that matter: long ones, and those that may have begun before the piece or go on behind it."""
        first = 0, len(piece) - len(piece.lstrip(_ESCAPED))
        last = len(piece.rstrip(_ESCAPED)), len(piece)
        long = (found.span() for found in _runs_longer_than(self._max_run, _ESCAPED).finditer(piece))
        return sorted({span for span in (first, *long, last) if span[0] < span[1]})


def elide_base64(text: str, most: int) -> str:
    """media-14: a text in which each run longer than `most` is cut down to its beginning and the count of the rest."""
    if len(text) <= most:
        return text
    kept = min(ELIDED_PREFIX, most)
    return _runs_longer_than(most, _LETTERS).sub(
        lambda found: f"{found[0][:kept]}...({len(found[0]) - kept} characters left out)", text
    )


@cache
def _runs_longer_than(most: int, letters: str) -> re.Pattern[str]:
    """Runs longer than that, and no others: most texts are many short ones. It begins where a run does, so that each is
    read once."""
    letter = f"[{re.escape(letters)}]"
    return re.compile(f"(?<!{letter}){letter}{{{most + 1},}}")
