"""Media in a debug bundle: a URL in place of the bytes, wherever a document has them.

Theory of operation. Bytes can be anywhere in a run: in events of media, in the text of a model's answer, in outputs,
inputs, variables, answers of people and annotations. They are found in four forms, in this order:

- the members of an object that say what they are: a media payload with `base64`, a message part with `data`;
- JSON with such an object inside a text, and data URLs in a text;
- base64 in a text that begins like a file of a known type;
- any other long run of base64, whose type is unknown. It is not replaced by a URL but cut to a prefix.

The URL of media that the host stores is the URL of the asset. It works as long as the run exists. Other bytes, such as
an image in the inputs, get the mediaRef that an asset with these bytes has: it names the bytes by their digest, and
nothing has to be stored when a bundle is read.

A model's text is streamed in chunks, and a chunk may begin or end within base64. The digest of a part would name
nothing, so the base64 of streamed text is left out. The record of the answer has the URL.

Sources: RFC 0055 C (bundles list media by URL), readings (Debug bundle).
"""

import hashlib
import re
from collections.abc import Callable, Iterable
from string import ascii_letters, digits
from typing import Any, Final

import msgspec

from weftwork.protocol.json.values import is_array, is_object, map_texts
from weftwork.protocol.media.asset_references import media_ref, rewrite_around_tokens
from weftwork.protocol.media.inline_media import (
    Base64Elider,
    decode_base64,
    elide_base64,
    find_inline_media,
    replace_inline_media,
    strip_base64,
)
from weftwork.protocol.media.media_types import (
    HTML_TYPE,
    JSON_TYPE,
    PLAIN_TYPE,
    SNIFF_BYTES,
    UNKNOWN_TYPE,
    XML_TYPE,
    canonical_media_type,
    is_textual,
    resolve_media_type,
    sniff_media_type,
)
from weftwork.protocol.privacy.credential_redaction import mask_credentials_in_text

AssetLink = Callable[[bytes, str, str], str]
"""Returns the URL of an asset, given the digest of its bytes, its media type and its name."""

MAX_BASE64_RUN: Final = 1024
"""Longest run of base64 in a bundle, in characters."""
MIN_BASE64_LINE: Final = 40
"""Shortest line, except the last, of base64 with line breaks, and shortest base64 that is recognised by its content."""
MIN_NAMED_BASE64: Final = 4
"""Shortest base64 that is replaced where a member or a data URL says that it is media."""

_ELIDED: Final = "The bytes are not in the bundle."
_NOT_MEDIA: Final = frozenset({UNKNOWN_TYPE, PLAIN_TYPE, JSON_TYPE, HTML_TYPE, XML_TYPE})
"""Detected types of bytes that are not recognised as media by their content."""

_SNIFF_CHARS: Final = SNIFF_BYTES // 3 * 8

_FAMILY: Final = "media."
_TYPE_MEMBERS: Final = ("mimeType", "mediaType", "media_type", "contentType", "content_type")
"""Members that say the media type of the bytes next to them, on the wire and in the APIs of model providers."""
MEDIA_MEMBERS: Final = frozenset(
    {"base64", "data", "dataBase64", "bytes", "url", "name", "type", "payload", *_TYPE_MEMBERS}
)
"""The members by which `reference_media` recognises that an object is media."""
_HINTS: Final = (b"ase64", b'"data"')
"""Documents with media in members or data URLs, also of a few bytes, have one of these."""
_BASE64: Final = (ascii_letters + digits + "+/_-").encode()
_BASE64_MAP: Final = bytes(65 if each in _BASE64 else 32 for each in range(256))
_PADDED_MAP: Final = bytes(65 if each in _BASE64 + b"=" else 32 for each in range(256))
_BASE64_RUN: Final = b"A" * MIN_BASE64_LINE
_WORD: Final = "[A-Za-z0-9+/_-]"
_LINES: Final = re.compile(rf"(?<!{_WORD}){_WORD}{{{MIN_BASE64_LINE},}}(?:\r?\n{_WORD}{{{MIN_BASE64_LINE},}})+")
_HEX: Final = re.compile(r"[0-9a-f\s]+")

_PIECE: Final = 65_536
"""Characters that one search reads, if the text can be cut there: a search holds the interpreter lock."""
_CUT: Final = re.compile(r"[^A-Za-z0-9+/=_\\\r\n-]")
"""Characters that are neither in base64 nor between its lines. A text can be cut after any of them."""

_CHARACTER: Final = r"(?:[A-Za-z0-9+/_-]|\\/)"
_LINE: Final = rf"(?>(?:{_WORD}{{{MIN_BASE64_LINE}}}|{_CHARACTER}{{{MIN_BASE64_LINE}}}){_WORD}*+(?:\\/{_WORD}*+)*+)"
"""At least MIN_BASE64_LINE characters. A run without escapes is read by one repetition of a set, which is seven times
as fast as the repetition of a choice."""
_BREAK: Final = r"(?:\r?\n|(?:\\r)?\\n)"
_CONTENT: Final = re.compile(
    rf"(?:(?<=\\[nrt])|(?<![A-Za-z0-9+/=_\\-])){_LINE}(?:{_BREAK}{_LINE})*"
    rf"(?:{_BREAK}(?:{_CHARACTER}{{4}})*(?:{_CHARACTER}{{2}}==|{_CHARACTER}{{3}}=|{_CHARACTER}{{4}})(?![A-Za-z0-9+/=_-]))?={{0,2}}"
)
"""Base64 in a text: one line, or several lines and a shorter last one. Slashes and line breaks may be escaped, because
the text may be JSON."""


def may_hold_media(document: bytes) -> bool:
    """Whether an encoded document may contain media or a long run of base64. False is certain."""
    return any(hint in document for hint in _HINTS) or _BASE64_RUN in document.translate(_BASE64_MAP)


def reference_media(value: Any, link: AssetLink | None) -> Any:
    """bundle-08 (RFC 0055 C): a copy of a JSON value with a URL in place of the bytes of media. Without `link`, the URL
    is the mediaRef of the bytes. Bytes that cannot be decoded are replaced by the note that they were left out."""
    return map_texts(_reference_members(value, link), lambda text: _reference_in_text(text, link))


def media_digests(documents: Iterable[bytes]) -> set[bytes]:
    """The digests of all media that `reference_media` replaces in encoded documents."""
    digests: set[bytes] = set()

    def collect(sha256: bytes, media_type: str, name: str) -> str:
        digests.add(sha256)
        return media_ref(sha256.hex())

    for document in documents:
        if may_hold_media(document):
            reference_media(msgspec.json.decode(document), collect)
    return digests


class StreamedMedia:
    """Leaves the base64 out of streamed text, chunk by chunk. One instance for each bundle."""

    __slots__ = ("_eliders",)

    def __init__(self) -> None:
        self._eliders: dict[str | None, Base64Elider] = {}

    def elide(self, document: bytes) -> bytes:
        """bundle-08: the encoded event of the next chunk without base64. Chunks must come in the order of the log."""
        event: dict[str, Any] = msgspec.json.decode(document)
        payload: dict[str, Any] = event["payload"]
        text, node_id = payload.get("chunk"), event.get("nodeId")
        if not isinstance(text, str):
            return document
        elider = self._eliders.setdefault(node_id, Base64Elider(0))
        if payload.get("isLast") is True:
            del self._eliders[node_id]
        visible = elider.feed(text)
        return document if visible == text else msgspec.json.encode({**event, "payload": {**payload, "chunk": visible}})


def elide_long_base64(text: str) -> str:
    """bundle-08: cut every run of base64 longer than MAX_BASE64_RUN to a prefix, even if it has line breaks."""
    if len(text) <= MAX_BASE64_RUN:
        return text
    return rewrite_around_tokens(text, lambda part: _in_pieces(part, _elide_runs))


def _reference_members(value: Any, link: AssetLink | None, is_payload: bool = False) -> Any:
    """`is_payload`: the value is the payload of a media event or a media envelope."""
    if is_array(value):
        return [_reference_members(each, link) for each in value]
    if not is_object(value):
        return value
    if (member := _media_member(value, is_payload)) is not None:
        value = _with_url(value, member, link)
    is_media = str(value.get("type")).startswith(_FAMILY)
    return {name: _reference_members(each, link, is_media and name == "payload") for name, each in value.items()}


def _media_member(value: dict[str, Any], is_payload: bool) -> str | None:
    """The member that has the bytes of media; None if the object has none."""
    if "base64" in value and is_payload:
        return "base64"
    for name in ("base64", "data", "dataBase64"):
        text = value.get(name)
        if not isinstance(text, str) or not _is_base64(text):
            continue
        declared = _declared_type(value)
        says_bytes = name == "base64" and ("bytes" in value or any(each in value for each in _TYPE_MEMBERS))
        if says_bytes or (declared and not is_textual(canonical_media_type(declared))):
            return name
        if _detect(text) is not None:
            return name
    return None


def _declared_type(value: dict[str, Any]) -> str:
    """The media type that an object declares; the empty string if it declares none."""
    types = (value.get(name) for name in _TYPE_MEMBERS)
    return next((each for each in types if isinstance(each, str)), "")


def _is_base64(text: str) -> bool:
    return len(text) >= MIN_NAMED_BASE64 and decode_base64(text) is not None


def _with_url(value: dict[str, Any], member: str, link: AssetLink | None) -> dict[str, Any]:
    others = {name: each for name, each in value.items() if name != member}
    if isinstance(others.get("url"), str):
        return others
    text = value[member]
    data = decode_base64(text) if isinstance(text, str) else None
    if data is None:
        return {**others, "elided": _ELIDED}
    name = others["name"] if isinstance(others.get("name"), str) else ""
    return {"url": _url(data, link, _declared_type(others), name), **others}


def _reference_in_text(text: str, link: AssetLink | None) -> str:
    if len(text) < MIN_BASE64_LINE and "ase64" not in text:
        return text
    return rewrite_around_tokens(text, lambda part: _reference_content(_reference_named(part, link), link))


def _reference_named(text: str, link: AssetLink | None) -> str:
    """The text with URLs for data URLs and for the media of JSON documents in it."""
    if "ase64" not in text and "\\u0036" not in text:
        return text
    spans = find_inline_media(text, 0, MIN_NAMED_BASE64, None)
    urls: dict[str, str] = {}
    for span in spans:
        if span.base64 in urls:
            continue
        data = decode_base64(span.base64)
        urls[span.base64] = f"({_ELIDED})" if data is None else _url(data, link)
    return replace_inline_media(text, spans, urls)


def _reference_content(text: str, link: AssetLink | None) -> str:
    """The text with URLs for base64 that is recognised by its content."""

    def replace(match: re.Match[str]) -> str:
        run = match[0]
        if _detect(run) is None:
            return run
        data = decode_base64(run)
        return f"({_ELIDED})" if data is None else _url(data, link)

    def search(piece: str) -> str:
        unescaped = piece.replace("\\/", "/") if "\\" in piece else piece
        return _CONTENT.sub(replace, piece) if _has_run(unescaped, _BASE64_MAP) else piece

    return _in_pieces(text, search)


def _has_run(text: str, letters: bytes) -> bool:
    """Whether a text has MIN_BASE64_LINE of these letters in a row. Takes a tenth of the time of a search by a pattern,
    which tries to match at every word."""
    return _BASE64_RUN in text.encode("utf-8", "surrogatepass").translate(letters)


def _in_pieces(text: str, change: Callable[[str], str]) -> str:
    """Apply `change`, which affects base64 only, to one piece of a long text after the other."""
    if len(text) <= _PIECE:
        return change(text)
    pieces: list[str] = []
    at = 0
    while at < len(text):
        cut = _CUT.search(text, at + _PIECE)
        end = len(text) if cut is None else cut.end()
        pieces.append(change(text[at:end]))
        at = end
    return "".join(pieces)


def _detect(base64: str) -> str | None:
    """The media type of bytes that begin like a file of a known type; None for other bytes and for plain text."""
    # Four characters are three bytes. Line breaks and escapes in the head make it a little shorter.
    head = decode_base64(strip_base64(base64[:_SNIFF_CHARS])[: _SNIFF_CHARS // 2])
    media_type = sniff_media_type(head) if head is not None else UNKNOWN_TYPE
    return None if media_type in _NOT_MEDIA else media_type


def _url(data: bytes, link: AssetLink | None, declared: str = "", name: str = "") -> str:
    sha256 = hashlib.sha256(data).digest()
    if link is None:
        return media_ref(sha256.hex())
    media_type = resolve_media_type(declared, sniff_media_type(data[:SNIFF_BYTES]))
    # The name is masked before it becomes part of the token, where a credential could not be recognised any more.
    return link(sha256, media_type, mask_credentials_in_text(name))


def _elide_runs(text: str) -> str:
    if not _has_run(text, _PADDED_MAP):
        return text
    return elide_base64(_LINES.sub(_elide_lines, text) if "\n" in text else text, MAX_BASE64_RUN)


def _elide_lines(match: re.Match[str]) -> str:
    # A list of hexadecimal digests is not media.
    text = match[0]
    if len(text) <= MAX_BASE64_RUN or _HEX.fullmatch(text):
        return text
    return elide_base64(re.sub(r"\s+", "", text), MAX_BASE64_RUN)
