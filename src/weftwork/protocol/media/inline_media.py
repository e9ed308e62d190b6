"""Inline media: finds the bytes that a model sends inside its text, and replaces them with URLs or leaves them out.

Theory of operation. A model may spell its documents in any way that can be read: with other quotes, escaped names,
broken lines. The parsed documents therefore tell which base64 is media, and the text is searched for that base64, not
for one spelling. A URL takes its place, whatever the member is called; `with_url_member` moves the URL to the right
member once the document has been parsed.

Megabytes of base64 bury a text that people read, so long runs are left out of it. In a stream, base64 is recognised by
what precedes it, as in an envelope or a data URL, so that no other text loses a character. In a finished document it is
recognised by its length alone.
"""

import binascii
import re
from base64 import b64decode, urlsafe_b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from string import ascii_letters, digits
from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.kinds import MEDIA_KINDS
from weftwork.protocol.envelopes.text.extraction import extract_envelopes
from weftwork.protocol.json.values import is_array, is_object

_STRICT: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
"""Base64 in one line, which ends with its padding."""
_LONG_RUN: Final = re.compile(
    r"(?<![A-Za-z0-9+/=_\\-])[A-Za-z0-9+/=_\\-]{40,}(?:\r?\n[A-Za-z0-9+/=_\\-]{40,})*(?:\r?\n[A-Za-z0-9+/_-]+={1,2})?"
)
"""What looks like base64 by its length: lines that are long, and a last one."""
_FILLER: Final = {ord(each): None for each in "= \t\r\n\v\f"}
_UNICODE_ESCAPE: Final = re.compile(r"\\u([0-9A-Fa-f]{4})")
_URLSAFE: Final = re.compile(r"[-_]")
_DATA_URL_PREFIX: Final = re.compile(
    r"data:[A-Za-z0-9.+-]{1,64}/[A-Za-z0-9.+-]{1,64}(?:;[A-Za-z0-9=.+-]{1,64})*;base64,$"
)
_MAX_DATA_URL_PREFIX: Final = 300
_MEDIA_KIND: Final = re.compile(r"media\.(?:image|audio|file)")
MAX_ANSWER_INLINE_BYTES: Final = 16_384
"""Bytes of media that stay inline if a model says them so: its answer stands in the log several times, as what it said,
as its envelope and as what its node makes of it."""
MIN_BASE64_LENGTH: Final = 64
"""Letters that are looked at; what is shorter is converted when its envelope is sent."""
MIN_TRUNCATED_BYTES: Final = 4_096
"""Bytes below which nothing is cut, whatever the cap is: tokens of assets are long, too."""
MAX_INLINE_PARTS: Final = 32
"""Inline media that are looked for in one answer."""


MAX_STREAMED_RUN: Final = 512
"""Characters of a run that a stream shows."""
ELIDED_PREFIX: Final = 64
"""Characters of a run that stay in a text."""

_LETTERS: Final = ascii_letters + digits + "+/=_-"
_ESCAPED: Final = _LETTERS + "\\\r\n"
"""The same as models write it: in lines, and in JSON, where a slash or the end of a line may have a backslash."""
_BASE64_CONTEXT: Final = re.compile(r"base(?:64|\\u0036\\u0034)[^A-Za-z0-9+/=_-]{1,16}$")
"""Follows a member name in any kind of quotes, or the prefix of a data URL."""
_NAME: Final = "base64"
_ESCAPED_NAME: Final = "base\\u0036\\u0034"
_TAIL: Final = 32
"""Characters before a run that are looked at."""


@dataclass(slots=True)
class Base64Elider:
    """media-14 (RFC 0055, reading): shows the pieces of one stream, without the rest of any run that is too long.

    A piece goes out for each that comes in, and what it shows depends on nothing that comes later. Where the pieces
    are cut makes no difference to what is shown in all.
    """

    _max_run: int = MAX_STREAMED_RUN
    _run_length: int = 0
    """Characters of the run that the last piece ended in."""
    _is_eliding: bool = False
    _tail: str = ""

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
        """The runs to consider: long ones, and those that may start before or end after this piece."""
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


class Base64Span(msgspec.Struct, frozen=True):
    """Base64 in a text: where it stands, and the base64 itself."""

    start: int
    end: int
    base64: str
    data_url: bool = False


def strip_base64(text: str) -> str:
    """Base64 without what only divides or ends it, whichever way JSON writes it."""
    if "\\u" in text:
        text = _UNICODE_ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    if "\\" in text:
        text = text.replace("\\n", "").replace("\\r", "").replace("\\/", "/")
    return text.translate(_FILLER)


def decode_base64(text: str) -> bytes | None:
    """The bytes of a base64 text, as models write it: with or without padding, in lines, in either alphabet."""
    letters = strip_base64(text)
    padded = letters + "=" * (-len(letters) % 4)
    try:
        return urlsafe_b64decode(padded) if _URLSAFE.search(letters) else b64decode(padded, validate=True)
    except (binascii.Error, ValueError):
        return None


def decoded_size(text: str) -> int:
    """About how many bytes a base64 text stands for: never fewer than it does."""
    return len(text) * 3 // 4


def find_inline_media(text: str, cap: int) -> list[Base64Span]:
    """media-84 (RFC 0055 C, inline cap): the base64 in an answer of a model that is media above the cap."""
    spans = list(_base64_spans(text, cap))
    if not spans:
        return []
    found = extract_envelopes(text, clean=True)
    known = {strip_base64(each) for each in _media_base64(list(found.documents) if found is not None else [])}
    return [span for span in spans if span.data_url or span.base64 in known][:MAX_INLINE_PARTS]


def replace_inline_media(text: str, spans: list[Base64Span], urls: Mapping[str, str]) -> str:
    """media-84: the answer with a URL in the place of each of them."""
    parts: list[str] = []
    at = 0
    for span in spans:
        parts += (text[at : span.start], urls.get(span.base64, text[span.start : span.end]))
        at = span.end
    return "".join([*parts, text[at:]])


def truncate_inline_media(text: str, cap: int, everywhere: bool) -> str:
    """media-84: an answer that speaks of media, and of which nothing could be made: of base64 above the cap only the
    beginning is left. `everywhere`: whatever it speaks of."""
    cap = max(cap, MIN_TRUNCATED_BYTES)
    if decoded_size(text) <= cap or (not everywhere and _MEDIA_KIND.search(text) is None):
        return text
    return _LONG_RUN.sub(lambda found: _truncate_run(found[0], cap), text)


def _truncate_run(run: str, cap: int) -> str:
    # Lists of digests and ids are no base64: they are written in one case.
    sample = run[: ELIDED_PREFIX * ELIDED_PREFIX]
    if decoded_size(strip_base64(run)) <= cap or sample == sample.lower() or sample == sample.upper():
        return run
    return f"{run[:ELIDED_PREFIX]}...({len(run) - ELIDED_PREFIX} characters left out)"


def with_url_member(payload: Any) -> Any:
    """media-84: the payload of media with its URL where it belongs, if that stands where base64 was."""
    text = payload.get("base64") if is_object(payload) else None
    if not isinstance(text, str) or not text.startswith(("https://", "http://")):
        return payload
    return {"url": text, **{name: value for name, value in payload.items() if name not in ("base64", "url")}}


def _base64_spans(text: str, cap: int) -> Iterator[Base64Span]:
    """Runs that could be base64 above the cap."""
    if decoded_size(text) <= cap:
        return
    for found in _runs_longer_than(max(cap * 4 // 3, MIN_BASE64_LENGTH) - 1, _ESCAPED).finditer(text):
        start, end = found.span()
        url = _DATA_URL_PREFIX.search(text[max(0, start - _MAX_DATA_URL_PREFIX) : start])
        if url is not None:
            strict = _STRICT.match(text, start)
            if strict is not None and decoded_size(strict[0]) > cap:
                yield Base64Span(start - len(url[0]), strict.end(), strip_base64(strict[0]), True)
            continue
        end = start + len(text[start:end].rstrip("\\"))
        letters = strip_base64(text[start:end])
        if decoded_size(letters) > cap:
            yield Base64Span(start, end, letters)


def _media_base64(value: Any) -> Iterator[str]:
    """The base64 of all media in documents, however deep: of their envelopes, and of what could be a payload of one."""
    level = [(value, False)]
    for _ in range(64):
        below: list[tuple[Any, bool]] = []
        for each, within in level:
            if is_object(each):
                is_payload = within or "bytes" in each or "mimeType" in each
                if is_payload and isinstance(each.get("base64"), str):
                    yield each["base64"]
                below += [
                    (member, each.get("type") in MEDIA_KINDS and name == "payload") for name, member in each.items()
                ]
            elif is_array(each):
                below += [(member, False) for member in each]
        if not below:
            return
        level = below
