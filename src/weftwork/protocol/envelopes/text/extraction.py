"""Finds the JSON documents in the text of a model. Pure, and linear in the length of the text.

Theory of operation. The text is first taken as one document. If it is not one, it is split into what stands in
Markdown fences and what stands around them. In each section, a bracket after which JSON could continue is followed to
the bracket that closes it, and the search continues behind that. A bracket that is not closed correctly ends the
search in its section: what is inside it or behind it may be part of a document that was cut off, and a part of a
broken document must never be taken for the whole. Every character is therefore looked at once.

Documents are decoded strictly first. Repair is tried only if nothing at all was found that way, and a repaired
document passes the same strict decoder.
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
"""Parts that a text is cut into; all that follows is in the last one."""

MAX_DOCUMENTS: Final = 2_000
"""Of one answer: as many as one envelope may have pieces, and far more than a turn may send."""
MAX_CANDIDATES: Final = 1_000
"""Pieces of a text that are decoded; what follows them is left unread."""

_FENCE: Final = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})([^\n`{[]*)$", re.MULTILINE)
_START: Final = re.compile(r'\{(?=[ \t\n\r]*["}])|\[(?=[ \t\n\r]*(?:[\[{"\]0-9-]|true|false|null))')
_BRACKET: Final = re.compile(r'[{}\[\]"]')
_STRING: Final = re.compile(r'(?:[^"\\]++|\\.)*+"', re.DOTALL)
_OPENERS: Final = {"}": "{", "]": "["}

_LOWEST_RANK: Final = 2
_LENIENT_START: Final = re.compile(
    "\\{(?=\\s*(?:[\"'\u2018\u201c-\u201e]|[\\w$-]+\\s*:|/[/*]))"
    "|\\[(?=\\s*(?:[\\[{\"'\u2018\u201c-\u201e]|/[/*]|-?[0-9]|[Tt]rue|[Ff]alse|null|None|undefined))"
)
"""A bracket after which something goes on that could be meant as JSON."""


class Extraction(msgspec.Struct, frozen=True):
    """Documents in the order in which they stand, and how they were found."""

    documents: tuple[Any, ...]
    path: ExtractionPath
    offset: int | None
    """The byte at which the first one begins; None if the text is the document."""


class TextSection(msgspec.Struct, frozen=True):
    """A stretch of a text, inside a fence or not."""

    start: int
    end: int
    fenced: bool


class _Candidate(msgspec.Struct, frozen=True):
    document: Any
    path: ExtractionPath
    start: int
    fenced: bool


def extract_value(text: str, *, clean: bool = False) -> Extraction | None:
    """rel-01 (RFC 0032 B.6): the one JSON value of this text; None if there is nothing that can be read as one.

    The text itself; else what stands in a fence; else the first object, or the first array if there is no object;
    else the first of these that can be repaired. `clean`: the model ended its answer by itself (see repair).
    """
    whole = _try_decode(text)
    if whole is not None:
        return Extraction(tuple(whole), "direct", None)
    best = min(_strict_candidates(text), key=_rank, default=None)
    if best is None or _rank(best) == _LOWEST_RANK:
        mended = min(_repaired_candidates(text, clean), key=_rank, default=None)
        best = mended if mended is not None and (best is None or _rank(mended) < _LOWEST_RANK) else best
    return None if best is None else Extraction((best.document,), best.path, _byte_offset(text, best.start))


def extract_envelopes(text: str, *, clean: bool | None = False) -> Extraction | None:
    """rel-03 (RFC 0021, transports): the objects that stand in this text, from top to bottom; None if there are none.

    For callers that expect envelopes: the text is an object or an array of objects, or holds such in fences or prose.
    Repaired ones count only if there are no others. `clean` None: nothing is repaired.
    """
    whole = _try_decode(text)
    if whole is not None:
        return Extraction(documents[:MAX_DOCUMENTS], "direct", None) if (documents := _objects_of(whole[0])) else None
    pieces = [each for each in _strict_candidates(text) if _objects_of(each.document)]
    if not pieces and clean is not None:
        pieces = [each for each in _repaired_candidates(text, clean) if _objects_of(each.document)]
    if not pieces:
        return None
    documents = tuple(islice((each for piece in pieces for each in _objects_of(piece.document)), MAX_DOCUMENTS))
    return Extraction(documents, pieces[0].path, _byte_offset(text, pieces[0].start))


def looks_like_envelope(value: Any) -> bool:
    """Whether this is an object with a kind and a payload."""
    return is_object(value) and isinstance(value.get("type"), str) and "payload" in value


def find_envelopes(text: str) -> Extraction | None:
    """The envelopes in a text that need not hold any. Nothing is repaired: a text may well speak of JSON."""
    if '"type"' not in text or '"payload"' not in text:
        return None
    found = extract_envelopes(text, clean=None)
    if found is None:
        return None
    documents = tuple(each for each in found.documents if looks_like_envelope(each))
    return Extraction(documents, found.path, found.offset) if documents else None


def holds_document(text: str) -> bool:
    """Whether a whole object or array stands in the text, without any repair."""
    return _try_decode(text) is not None or next(_strict_candidates(text), None) is not None


def is_prose(text: str) -> bool:
    """rel-04 (RFC 0032 B.5): whether these are words and no attempt at JSON. An empty text is neither."""
    start = text.lstrip()[:3]
    return bool(start) and start[0] not in "{[" and start not in ("```", "~~~")


def _objects_of(document: Any) -> tuple[Any, ...]:
    """An object, or the objects of an array that holds nothing else."""
    if is_object(document):
        return (document,)
    return tuple(document) if is_array(document) and all(is_object(each) for each in document) else ()


def _rank(piece: _Candidate) -> int:
    """A fence was made for a document; a list of plain values in prose may be a reference."""
    return 0 if piece.fenced else 1 if _objects_of(piece.document) else _LOWEST_RANK


def _strict_candidates(text: str) -> Iterator[_Candidate]:
    """The documents in a text that is none itself, in their order."""
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
    """What can be repaired: in each part the first that could be meant as JSON, so that no part of it is taken."""
    for part in split_sections(text):
        if start := _LENIENT_START.search(text, part.start, part.end):
            whole_part = clean and (part.fenced or part.end == len(text))
            mended = repair(text[start.start() : part.end], clean=whole_part)
            if mended is not None and (whole := _try_decode(mended)) is not None:
                yield _Candidate(whole[0], "jsonrepair", start.start(), part.fenced)


def _try_decode(text: str) -> list[Any] | None:
    """The document that this text is, in a list of its own, or None."""
    try:
        return [decode(text.encode("utf-8", "surrogatepass"))]
    except ClientFault:
        return None


def _byte_offset(text: str, index: int) -> int:
    return len(text[:index].encode("utf-8", "surrogatepass"))


def split_sections(text: str) -> list[TextSection]:
    """The text cut at its fences. A fence that is not closed reaches to the end."""
    found: list[TextSection] = []
    start, mark = 0, ""
    for fence in _FENCE.finditer(text):
        if mark and (not fence[1].startswith(mark) or fence[2].strip()):
            continue
        found.append(TextSection(start, fence.start(), bool(mark)))
        start, mark = fence.end(), "" if mark else fence[1]
        if not mark and len(found) >= MAX_SECTIONS:
            break
    found.append(TextSection(start, len(text), bool(mark)))
    return found


def balanced_spans(text: str, part: TextSection) -> Iterator[tuple[int, int]]:
    """Where brackets balance in this part, outermost ones only, in their order."""
    at = part.start
    while start := _START.search(text, at, part.end):
        at, closed = find_closing_bracket(text, start.start(), part.end)
        if not closed:
            return
        yield start.start(), at


def find_closing_bracket(text: str, start: int, end: int) -> tuple[int, bool]:
    """Where the bracket at `start` is closed, or where it is clear that it is not; and whether it is."""
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
