"""Finds the JSON documents in the text of a model. Pure, and linear in the length of the text.

Theory of operation. The whole text is decoded as one document first. If that fails, the text is split into sections:
the contents of Markdown fences, and the text between them. In each section, the search follows an opening bracket that
could start JSON to its closing bracket, and continues behind it. An opening bracket that is not closed correctly ends
the search in its section: the text after it may belong to a truncated document, and a part of a broken document must
never be mistaken for a whole one. Every character is therefore read once.

Documents are decoded strictly. Repair is tried only if strict decoding finds nothing, or, for `extract_value`, only a
list of plain values. A repaired document passes the same strict decoder.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.envelopes.text.repair import repair
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.decoder import MAX_DEPTH, decode
from weftwork.protocol.json.values import is_array, is_object

ExtractionPath = Literal["direct", "markdown-fence", "brace-walker", "jsonrepair"]

MAX_SECTIONS: Final = 1_000
"""Sections that a text is split into. The last section holds the rest of the text."""

MAX_DOCUMENTS: Final = 2_000
"""Documents of one answer: as many as one envelope may have pieces, and far more than a turn may send."""
MAX_CANDIDATES: Final = 1_000
"""Bracketed spans of a text that are decoded. The rest of the text is ignored."""

_FENCE: Final = re.compile(r"^[ \t]{0,3}(`{3,}+|~{3,}+)([^\n`{[]*+)$", re.MULTILINE)
"""The repetitions are possessive: a line of n tildes that is no fence would otherwise be split in n ways."""
_START: Final = re.compile(r'\{(?=[ \t\n\r]*["}])|\[(?=[ \t\n\r]*(?:[\[{"\]0-9-]|true|false|null))')
_BRACKET: Final = re.compile(r'[{}\[\]"]')
_STRING: Final = re.compile(r'(?:[^"\\]++|\\.)*+"', re.DOTALL)
_OPENERS: Final = {"}": "{", "]": "["}

_LOWEST_RANK: Final = 2
_LENIENT_START: Final = re.compile(
    "\\{(?=\\s*(?:[\"'\u2018\u201c-\u201e]|[\\w$-]+\\s*:|/[/*]))"
    "|\\[(?=\\s*(?:[\\[{\"'\u2018\u201c-\u201e]|/[/*]|-?[0-9]|[Tt]rue|[Ff]alse|null|None|undefined))"
)
"""A bracket followed by text that could be intended as JSON, including the deviations that `repair` accepts."""


class Extraction(msgspec.Struct, frozen=True):
    """The documents of a text in order, and how they were found."""

    documents: tuple[Any, ...]
    path: ExtractionPath
    offset: int | None
    """Byte offset of the first document; None if the whole text is the document."""


class TextSection(msgspec.Struct, frozen=True):
    start: int
    end: int
    fenced: bool


class _Candidate(msgspec.Struct, frozen=True):
    document: Any
    path: ExtractionPath
    start: int
    fenced: bool


def extract_value(text: str, *, clean: bool = False) -> Extraction | None:
    """rel-01 (RFC 0032 B.6): the JSON value in the text; None if it contains no JSON value.

    Preference: the whole text; the contents of a fence; the first object or array of objects; a repaired value; any
    other array. `clean` states that the model ended its answer (see `repair`).
    """
    whole = _try_decode(text)
    if whole is not None:
        return Extraction(tuple(whole), "direct", None)
    best = min(_strict_candidates(text), key=_rank, default=None)
    if best is None or _rank(best) == _LOWEST_RANK:
        repaired = min(_repaired_candidates(text, clean), key=_rank, default=None)
        best = repaired if repaired is not None and (best is None or _rank(repaired) < _LOWEST_RANK) else best
    return None if best is None else Extraction((best.document,), best.path, _byte_offset(text, best.start))


def extract_envelopes(text: str, *, clean: bool | None = False) -> Extraction | None:
    """rel-03 (RFC 0021, transports): the objects in the text, in order; None if there are none.

    For callers that expect envelopes. The text is an object or an array of objects, or contains them in fences or
    prose. Repair is tried only if strict decoding finds no object; `clean=None` disables it.
    """
    whole = _try_decode(text)
    if whole is not None:
        return Extraction(documents[:MAX_DOCUMENTS], "direct", None) if (documents := _objects_of(whole[0])) else None
    found = [each for each in _strict_candidates(text) if _objects_of(each.document)]
    if not found and clean is not None:
        found = [each for each in _repaired_candidates(text, clean) if _objects_of(each.document)]
    if not found:
        return None
    documents = tuple(islice((each for item in found for each in _objects_of(item.document)), MAX_DOCUMENTS))
    return Extraction(documents, found[0].path, _byte_offset(text, found[0].start))


def looks_like_envelope(value: Any) -> bool:
    """Whether the value is an object with a `type` and a `payload`."""
    return is_object(value) and isinstance(value.get("type"), str) and "payload" in value


def repair_document(text: str) -> Extraction | None:
    """rel-03: the objects of the broken JSON document with which a text starts, or its only fence if there is nothing
    around it; None for every other text. Unlike `extract_envelopes`, it repairs nothing inside prose or code."""
    parts = [part for part in split_sections(text) if text[part.start : part.end].strip()]
    if len(parts) != 1 or text[parts[0].start : parts[0].end].lstrip()[0] not in "{[":
        return None
    found = next(_repaired_candidates(text, clean=True), None)
    if found is None or not (documents := _objects_of(found.document)):
        return None
    return Extraction(documents[:MAX_DOCUMENTS], found.path, _byte_offset(text, found.start))


def holds_document(text: str) -> bool:
    """Whether the text contains a complete object or array. Nothing is repaired."""
    return _try_decode(text) is not None or next(_strict_candidates(text), None) is not None


def is_prose(text: str) -> bool:
    """rel-04 (RFC 0032 B.5): whether the text starts as prose instead of JSON or a fence. False for an empty text."""
    start = text.lstrip()[:3]
    return bool(start) and start[0] not in "{[" and start not in ("```", "~~~")


def _objects_of(document: Any) -> tuple[Any, ...]:
    """The document if it is an object, or its items if it is an array of objects only; otherwise nothing."""
    if is_object(document):
        return (document,)
    return tuple(document) if is_array(document) and all(is_object(each) for each in document) else ()


def _rank(piece: _Candidate) -> int:
    """The preference among candidates, lowest first. A fence is meant to hold a document. An array of plain values in
    prose ranks last, because it may be a reference such as [1]."""
    return 0 if piece.fenced else 1 if _objects_of(piece.document) else _LOWEST_RANK


def _strict_candidates(text: str) -> Iterator[_Candidate]:
    """The strictly decoded documents in the sections of a text, in order."""
    tried = 0
    for part in split_sections(text):
        inside = text[part.start : part.end]
        if part.fenced and (whole := _try_decode(inside)) is not None:
            yield _Candidate(whole[0], "markdown-fence", part.end - len(inside.lstrip()), True)
            continue
        for start, end in balanced_spans(text, part):
            tried += 1
            if tried > MAX_CANDIDATES:
                return
            if (whole := _try_decode(text[start:end])) is not None:
                yield _Candidate(whole[0], "brace-walker", start, part.fenced)


def _repaired_candidates(text: str, clean: bool) -> Iterator[_Candidate]:
    """The repaired documents of a text. Only the first possible start of each section is tried, because a later one may
    lie inside a document that cannot be repaired."""
    for part in split_sections(text):
        if start := _LENIENT_START.search(text, part.start, part.end):
            is_ended = clean and (part.fenced or part.end == len(text))
            repaired = repair(text[start.start() : part.end], clean=is_ended)
            if repaired is not None and (whole := _try_decode(repaired)) is not None:
                yield _Candidate(whole[0], "jsonrepair", start.start(), part.fenced)


def _try_decode(text: str) -> list[Any] | None:
    """The decoded document as the only item of a list, so that a JSON null differs from None: not JSON."""
    try:
        return [decode(text.encode("utf-8", "surrogatepass"))]
    except ClientFault:
        return None


def _byte_offset(text: str, index: int) -> int:
    return len(text[:index].encode("utf-8", "surrogatepass"))


def split_sections(text: str) -> list[TextSection]:
    """Split the text at its Markdown fences. An unclosed fence extends to the end of the text."""
    sections: list[TextSection] = []
    start, mark = 0, ""
    for fence in _FENCE.finditer(text):
        if mark and (not fence[1].startswith(mark) or fence[2].strip()):
            continue
        sections.append(TextSection(start, fence.start(), bool(mark)))
        start, mark = fence.end(), "" if mark else fence[1]
        if not mark and len(sections) >= MAX_SECTIONS:
            break
    sections.append(TextSection(start, len(text), bool(mark)))
    return sections


def balanced_spans(text: str, part: TextSection) -> Iterator[tuple[int, int]]:
    """The outermost bracketed spans of a section, in order. Ends at the first bracket that is not closed correctly."""
    at = part.start
    while start := _START.search(text, at, part.end):
        at, closed = find_closing_bracket(text, start.start(), part.end)
        if not closed:
            return
        yield start.start(), at


def find_closing_bracket(text: str, start: int, end: int) -> tuple[int, bool]:
    """The index after the bracket that closes the one at `start`, and True; or the index where the search failed, and
    False."""
    opened: list[str] = []
    at = start
    while found := _BRACKET.search(text, at, end):
        mark, at = found[0], found.end()
        if mark == '"':
            closing = _STRING.match(text, at, end)
            if closing is None:
                return end, False
            at = closing.end()
        elif mark in _OPENERS:
            if opened.pop() != _OPENERS[mark]:
                return at, False
            if not opened:
                return at, True
        else:
            opened.append(mark)
            if len(opened) > MAX_DEPTH:
                return at, False
    return end, False
