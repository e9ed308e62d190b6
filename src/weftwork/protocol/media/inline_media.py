"""Finds media that a model sends as base64 inside its text, and replaces it with URLs or removes it.

Theory of operation. A model may write a document in many ways that can still be parsed: with other quotes, escaped
names or line breaks. The parsed documents therefore determine which base64 is media, and the text is searched for that
base64 instead of for one spelling of the member. The URL replaces the base64 in place, under any member name;
`with_url_member` moves it to the `url` member once the document has been parsed.

Megabytes of base64 make a text unreadable, so long runs of it are elided. In a stream, base64 is recognised by the text
before it, as in an envelope or a data URL, so that no other text is changed. In a finished document it is recognised by
its length alone.
"""

import binascii
import re
from base64 import b64decode, urlsafe_b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from string import ascii_letters, digits
from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.kinds import MEDIA_KINDS
from weftwork.protocol.envelopes.text.extraction import extract_envelopes
from weftwork.protocol.json.values import is_array, is_object

_STRICT: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
"""Base64 on one line, up to the end of its padding."""
_LONG_RUN: Final = re.compile(
    r"(?<![A-Za-z0-9+/=_\\-])[A-Za-z0-9+/=_\\-]{40,}(?:\r?\n[A-Za-z0-9+/=_\\-]{40,})*(?:\r?\n[A-Za-z0-9+/_-]+={1,2})?"
)
"""Text that looks like base64 because of its length: long lines, and a shorter last line."""
_FILLER: Final = {ord(each): None for each in "= \t\r\n\v\f"}
_UNICODE_ESCAPE: Final = re.compile(r"\\u([0-9A-Fa-f]{4})")
_URLSAFE: Final = re.compile(r"[-_]")
_DATA_URL: Final = "data:"
_DATA_URL_PREFIX: Final = re.compile(
    rf"{_DATA_URL}[A-Za-z0-9.+-]{{1,64}}/[A-Za-z0-9.+-]{{1,64}}(?:;[A-Za-z0-9=.+-]{{1,64}})*;base64,"
)
_MAX_DATA_URL_PREFIX: Final = 300
_MEDIA_KIND: Final = re.compile(r"media\.(?:image|audio|file)")
MAX_ANSWER_INLINE_BYTES: Final = 16_384
"""Bytes of media in an answer that stay inline. The limit is low because the log holds an answer several times: as the
answer, as its envelope and as the output of its node."""
MIN_BASE64_LENGTH: Final = 64
"""Shortest base64 that is searched for in an answer. Shorter media is converted when its envelope is sent."""
MIN_TRUNCATED_BYTES: Final = 4_096
"""Shorter base64 is never truncated, even if the cap is lower, because asset tokens are long too."""
MAX_INLINE_PARTS: Final = 32
"""Inline media that is replaced in one answer."""


MAX_STREAMED_RUN: Final = 512
"""Characters of a base64 run that a stream shows before it elides the rest."""
ELIDED_PREFIX: Final = 64
"""Characters that remain of an elided run."""

_LETTERS: Final = ascii_letters + digits + "+/=_-"
_ESCAPED: Final = _LETTERS + "\\\r\n"
"""Base64 characters as models write them in JSON: with line breaks, and with backslashes before slashes and line
breaks."""
_BASE64_CONTEXT: Final = re.compile(r"base(?:64|\\u0036\\u0034)[^A-Za-z0-9+/=_-]{1,16}$")
"""Matches the text before a run: a member name in any kind of quotes, or the prefix of a data URL."""
_NAME: Final = "base64"
_ESCAPED_NAME: Final = "base\\u0036\\u0034"
_TAIL: Final = 32
"""Characters before a run that are matched against _BASE64_CONTEXT."""


@dataclass(slots=True)
class Base64Elider:
    """media-14 (RFC 0055, reading): elides long base64 runs from the chunks of one stream.

    Each chunk produces one output immediately, without waiting for later chunks. The concatenated output does not
    depend on where the stream is split into chunks.
    """

    _max_run: int = MAX_STREAMED_RUN
    _run_length: int = 0
    """Characters so far of the run at the end of the last chunk."""
    _is_eliding: bool = False
    _tail: str = ""

    def feed(self, piece: str) -> str:
        """The chunk without elided characters."""
        if not self._is_eliding and _NAME not in (near := self._tail + piece) and _ESCAPED_NAME not in near:
            # Fast path: without the word base64 nearby, no run in this chunk can be media.
            self._run_length, self._tail = 0, near[-_TAIL:]
            return piece
        parts: list[str] = []
        at = 0
        for start, end in self._spans(piece):
            if start > 0 or not self._run_length:
                near = piece[max(0, start - _TAIL) : start]
                self._is_eliding = _BASE64_CONTEXT.search((self._tail + near)[-_TAIL:]) is not None
                self._run_length = 0
            visible_end = start + max(self._max_run - self._run_length, 0) if self._is_eliding else end
            parts.append(piece[at : min(end, visible_end)])
            self._run_length += end - start
            at = end
        if at < len(piece):
            self._run_length, self._is_eliding = 0, False
            parts.append(piece[at:])
        self._tail = (self._tail + piece)[-_TAIL:]
        return "".join(parts)

    def _spans(self, piece: str) -> list[tuple[int, int]]:
        """The runs to consider: long ones, and those that may begin before or continue after this chunk."""
        first = 0, len(piece) - len(piece.lstrip(_ESCAPED))
        last = len(piece.rstrip(_ESCAPED)), len(piece)
        long = (match.span() for match in _runs_longer_than(self._max_run, _ESCAPED).finditer(piece))
        return sorted({span for span in (first, *long, last) if span[0] < span[1]})


def elide_base64(text: str, most: int) -> str:
    """media-14: cut each base64 run longer than `most` to a prefix, followed by the number of omitted characters."""
    if len(text) <= most:
        return text
    prefix = min(ELIDED_PREFIX, most)
    return _runs_longer_than(most, _LETTERS).sub(
        lambda match: f"{match[0][:prefix]}...({len(match[0]) - prefix} characters left out)", text
    )


@cache
def _runs_longer_than(most: int, letters: str) -> re.Pattern[str]:
    """A pattern for runs longer than `most`. It skips the many short runs of ordinary text and matches only at the
    start of a run, so that each run is read once."""
    letter = f"[{re.escape(letters)}]"
    return re.compile(f"(?<!{letter}){letter}{{{most + 1},}}")


class Base64Span(msgspec.Struct, frozen=True):
    """The position of base64 in a text, and the base64 itself without padding and line breaks."""

    start: int
    end: int
    base64: str
    data_url: bool = False


def strip_base64(text: str) -> str:
    """Base64 without padding, white space and JSON escapes, so that different spellings compare equal."""
    if "\\u" in text:
        text = _UNICODE_ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    if "\\" in text:
        text = text.replace("\\n", "").replace("\\r", "").replace("\\/", "/")
    return text.translate(_FILLER)


def decode_base64(text: str) -> bytes | None:
    """Decode base64 as models write it: with or without padding, with line breaks, in the standard or the URL-safe
    alphabet. None if it is not base64."""
    letters = strip_base64(text)
    padded = letters + "=" * (-len(letters) % 4)
    try:
        return urlsafe_b64decode(padded) if _URLSAFE.search(letters) else b64decode(padded, validate=True)
    except (binascii.Error, ValueError):
        return None


def decoded_size(text: str) -> int:
    """An upper bound of the number of bytes in a base64 text."""
    return len(text) * 3 // 4


def find_inline_media(
    text: str, cap: int, shortest: int = MIN_BASE64_LENGTH, most: int | None = MAX_INLINE_PARTS
) -> list[Base64Span]:
    """media-84 (RFC 0055 C, inline cap): the base64 in a model's answer that is media larger than the cap in bytes, of
    at least `shortest` characters; the first `most` of them."""
    runs = _runs_longer_than(max(cap * 4 // 3, shortest) - 1, _ESCAPED)
    if decoded_size(text) <= cap or runs.search(text) is None:
        return []
    extraction = extract_envelopes(text, clean=True)
    media = {strip_base64(each) for each in _media_base64(list(extraction.documents) if extraction is not None else [])}
    if not media and _DATA_URL not in text:
        return []
    return list(islice(_media_spans(text, runs.finditer(text), media, cap), most))


def replace_inline_media(text: str, spans: list[Base64Span], urls: Mapping[str, str]) -> str:
    """media-84: replace each span with its URL. `urls` is keyed by base64; a span without a URL stays."""
    parts: list[str] = []
    at = 0
    for span in spans:
        parts += (text[at : span.start], urls.get(span.base64, text[span.start : span.end]))
        at = span.end
    return "".join([*parts, text[at:]])


def truncate_inline_media(text: str, cap: int, everywhere: bool) -> str:
    """media-84: truncate the base64 above the cap that could not be replaced with URLs. Applies only to an answer that
    names a media kind, or to any answer with `everywhere`."""
    cap = max(cap, MIN_TRUNCATED_BYTES)
    if decoded_size(text) <= cap or (not everywhere and _MEDIA_KIND.search(text) is None):
        return text
    return _LONG_RUN.sub(lambda match: _truncate_run(match[0], cap), text)


def _truncate_run(run: str, cap: int) -> str:
    # Base64 mixes upper and lower case. Lists of digests and ids usually have only one, and must not be truncated.
    sample = run[: ELIDED_PREFIX * ELIDED_PREFIX]
    if decoded_size(strip_base64(run)) <= cap or sample == sample.lower() or sample == sample.upper():
        return run
    return f"{run[:ELIDED_PREFIX]}...({len(run) - ELIDED_PREFIX} characters left out)"


def with_url_member(payload: Any) -> Any:
    """media-84: move a URL that replaced base64 from the `base64` member of a media payload to its `url` member."""
    text = payload.get("base64") if is_object(payload) else None
    if not isinstance(text, str) or not text.startswith(("https://", "http://")):
        return payload
    return {"url": text, **{name: value for name, value in payload.items() if name not in ("base64", "url")}}


def _media_spans(text: str, runs: Iterator[re.Match[str]], media: set[str], cap: int) -> Iterator[Base64Span]:
    """The runs of a text that are base64 above the cap, of a data URL or of these media."""
    # A hostile text has a run every few characters. Most are skipped by their length, before anything is copied.
    shortest = min(map(len, media), default=len(text) + 1)
    for match in runs:
        start, end = match.span()
        if text.endswith("base64,", 0, start) and (url := _data_url_start(text, start)) >= 0:
            strict = _STRICT.match(text, start)
            if strict is not None and decoded_size(strict[0]) > cap:
                yield Base64Span(url, strict.end(), strip_base64(strict[0]), True)
            continue
        if end - start < shortest:
            continue
        end = start + len(text[start:end].rstrip("\\"))
        letters = strip_base64(text[start:end])
        if letters in media and decoded_size(letters) > cap:
            yield Base64Span(start, end, letters)


def _data_url_start(text: str, end: int) -> int:
    """Where the data URL begins whose base64 begins at `end`; -1 without one."""
    # The prefix has one colon, so it can begin only here.
    start = text.rfind(_DATA_URL, max(0, end - _MAX_DATA_URL_PREFIX), end)
    return start if start >= 0 and _DATA_URL_PREFIX.fullmatch(text, start, end) else -1


def _media_base64(value: Any) -> Iterator[str]:
    """The base64 of all media in a document at any depth: of payloads of media envelopes, and of other objects that
    look like such a payload."""
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
