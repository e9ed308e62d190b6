"""Media types: canonical names, detection from bytes, and which types a browser may display in place.

Theory of operation. A browser trusts the declared type of a response or guesses the type. Attackers use both to make
it run a file that was uploaded as an image. The host therefore detects the type first, with its own table, from the
first bytes and without decoding them. It serves bytes as the declared type only if they look like that type. Detection
looks for markup first, and skips everything in front of it that a browser would skip. Source: RFC 0055.
"""

import re
from typing import Final

import msgspec

UNKNOWN_TYPE: Final = "application/octet-stream"
PLAIN_TYPE: Final = "text/plain"
JSON_TYPE: Final = "application/json"
HTML_TYPE: Final = "text/html"
SVG_TYPE: Final = "image/svg+xml"
XML_TYPE: Final = "application/xml"

ACTIVE_TYPES: Final = frozenset({HTML_TYPE, SVG_TYPE, XML_TYPE})
"""Types that may contain scripts. Bytes that look like one of them are never served as another displayable type."""
INLINE_TYPES: Final = frozenset(
    "image/png image/jpeg image/gif image/webp image/avif audio/mpeg audio/ogg audio/wav audio/mp4 "
    "audio/webm video/mp4 video/webm".split()
)
"""media-07 (RFC 0055, reading): the types that a browser may display in place. All others are downloads."""

MAX_MEDIA_TYPE: Final = 127

SNIFF_BYTES: Final = 4096
"""Bytes at the start of an asset that detection reads."""

_FORM: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,100}/[a-z0-9][a-z0-9!#$&^_.+-]{0,100}")
_ALIASES: Final = {
    "application/csv": "text/csv",
    "application/markdown": "text/markdown",
    "application/ogg": "audio/ogg",
    "application/x-gzip": "application/gzip",
    "application/x-json": JSON_TYPE,
    "application/x-pdf": "application/pdf",
    "application/x-yaml": "application/yaml",
    "application/x-zip": "application/zip",
    "application/x-zip-compressed": "application/zip",
    "audio/m4a": "audio/mp4",
    "audio/mp3": "audio/mpeg",
    "audio/aacp": "audio/aac",
    "audio/opus": "audio/ogg",
    "audio/vnd.wave": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/x-aac": "audio/aac",
    "audio/x-aiff": "audio/aiff",
    "audio/x-flac": "audio/flac",
    "audio/x-m4a": "audio/mp4",
    "audio/x-mp3": "audio/mpeg",
    "audio/x-mpeg": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/svg": SVG_TYPE,
    "image/x-bmp": "image/bmp",
    "image/x-ms-bmp": "image/bmp",
    "image/x-png": "image/png",
    "text/json": JSON_TYPE,
    "text/x-markdown": "text/markdown",
    "text/xml": XML_TYPE,
    "text/yaml": "application/yaml",
    "video/x-m4v": "video/mp4",
}
_NARROWER: Final = {
    "image/png": frozenset({"image/apng"}),
    "video/mp4": frozenset({"audio/mp4"}),
    "video/webm": frozenset({"audio/webm"}),
    "application/zip": frozenset({"application/epub+zip"}),
}
"""Declared types that are accepted for bytes detected as the more general type, because the first bytes do not
distinguish them."""
_OFFICE: Final = re.compile(r"application/vnd\.(?:openxmlformats-officedocument|oasis\.opendocument)\.[a-z0-9.-]+")
_TEXTUAL: Final = re.compile(
    r"text/.+|application/(?:json|yaml|toml|sql|rtf|x-ndjson|jsonl|x-jsonlines|graphql|.+\+json|.+\+yaml|"
    r"(?:x-)?(?:java|ecma)script)"
)
_EXECUTABLE: Final = re.compile(
    r"html|script|/css|[/+]xml|/xsl|/x-component|manifest|policy|wasm|speculationrules|importmap"
)
"""Matches the names of types that a browser executes or applies, such as scripts, style sheets and manifests."""


def canonical_media_type(declared: str) -> str:
    """The canonical name of a media type, without parameters; UNKNOWN_TYPE for a malformed one."""
    if len(declared) > 1024:
        return UNKNOWN_TYPE
    name = declared.partition(";")[0].strip(" \t").lower()
    if len(name) > MAX_MEDIA_TYPE or _FORM.fullmatch(name) is None:
        return UNKNOWN_TYPE
    return _ALIASES.get(name, name)


def resolve_media_type(declared: str, detected: str) -> str:
    """media-08 (RFC 0055, reading): the media type under which bytes are stored and served.

    The result is the declared type if it agrees with the detected one, the detected type if none is declared, and
    UNKNOWN_TYPE otherwise. For text, the declared type is used, except a type that browsers execute: such text is
    served as plain text.
    """
    if not declared:
        return detected
    name = canonical_media_type(declared)
    if name == detected or name in _NARROWER.get(detected, ()):
        return name
    if detected == "application/zip" and _OFFICE.fullmatch(name) is not None:
        return name
    if detected == XML_TYPE and name.endswith("+xml") and name != SVG_TYPE:
        return XML_TYPE
    if detected in (PLAIN_TYPE, JSON_TYPE) and _TEXTUAL.fullmatch(name) is not None:
        return name if is_harmless(name) else PLAIN_TYPE
    return UNKNOWN_TYPE


def contradicts(declared: str, known: str) -> bool:
    """media-56 (RFC 0091, mimeType): whether a declared media type cannot be true of content whose type is known from
    its bytes or from the server that sent it.

    A type that says nothing contradicts nothing. All texts agree with one another, because many formats are text, and
    so does a format that is a ZIP archive or XML with these two. An alias is the same type.
    """
    name, known = canonical_media_type(declared), canonical_media_type(known)
    if name == known or name in _UNSPECIFIC or known in _UNSPECIFIC or resolve_media_type(name, known) != UNKNOWN_TYPE:
        return False
    if _is_text(known) and name != SVG_TYPE:
        return not _is_text(name)
    is_container = known in ("application/zip", "application/gzip", XML_TYPE)
    is_unknown_format = name.startswith("application/") and not _is_text(name) and name not in _MAGIC_TYPES
    return not (is_container and is_unknown_format)


def _is_text(media_type: str) -> bool:
    return is_textual(media_type) or media_type in ACTIVE_TYPES or media_type.endswith("+xml")


def is_textual(media_type: str) -> bool:
    """Whether content of this type is text."""
    return _TEXTUAL.fullmatch(media_type) is not None


def is_harmless(media_type: str) -> bool:
    """Whether no browser executes or applies content of this type."""
    return _EXECUTABLE.search(media_type) is None


def is_inline(media_type: str) -> bool:
    """media-07: whether a browser may display the type in place."""
    return media_type in INLINE_TYPES


_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_WIDE_BYTE_ORDER_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"fLaC\x00\x00\x00\x22", "audio/flac"),
    (b"fLaC\x80\x00\x00\x22", "audio/flac"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"PK\x07\x08", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
)
_MAGIC_TYPES: Final = frozenset(media_type for _, media_type in _MAGIC)
_UNSPECIFIC: Final = frozenset(
    f"{UNKNOWN_TYPE} application/binary application/download application/force-download application/unknown "
    "application/x-download binary/octet-stream".split()
)
"""Types that servers send for files of any type."""
_RIFF: Final = {b"WAVE": "audio/wav", b"WEBP": "image/webp"}
_BRANDS: Final = (
    (re.compile(rb"avi[fs]"), "image/avif"),
    (re.compile(rb"iso[m2-9]|mp4[12]|avc1|M4V |MSNV|dash|cmfc"), "video/mp4"),
)
# MPEG-1 and MPEG-2 layer III, in kbit/s by the index in the frame's header.
_BIT_RATES: Final = {
    True: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    False: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_SAMPLE_RATES: Final = (44_100, 48_000, 32_000)

_SKIPPED: Final = bytes(range(0x21))
"""Control characters and spaces. For each of them, some browser has skipped it in front of markup."""
_TAG: Final = re.compile(
    rb"</?(?:!doctype\s+)?(?:[\w.-]{1,40}:)?"
    rb"(svg|html|head|body|script|style|title|meta|link|base|iframe|frame|frameset|object|embed|applet|img|image|video|"
    rb"audio|source|track|form|input|button|select|textarea|details|dialog|marquee|template|math|table|div|span|font|"
    rb"center|section|article|main|nav|header|footer|h[1-6]|ul|ol|li|dl|pre|code|p|a|b|i|u|s|br|hr|em|strong|noscript|"
    rb"plaintext|xmp|listing|isindex|bgsound|layer|portal|canvas|map|area)(?=[\s/>\x00-\x20]|$)",
    re.IGNORECASE,
)
_SVG_INSIDE: Final = re.compile(rb"<(?:[\w.-]{1,40}:)?svg[\s/>]", re.IGNORECASE)
_HTML_INSIDE: Final = re.compile(rb"<(?:[\w.-]{1,40}:)?html[\s/>]", re.IGNORECASE)
_NAMESPACE: Final = re.compile(rb"<[A-Za-z_][^<>]{0,400}\sxmlns[:=]")
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")
_JSON_START: Final = re.compile(r'\s*(?:\{\s*(?:"|\}\s*$|$)|\[\s*(?:[\[{"\]]|-?[0-9]|true|false|null|$))')


def sniff_media_type(head: bytes) -> str:
    """media-05 (RFC 0055, reading): the media type that the bytes look like, or UNKNOWN_TYPE. Never raises."""
    head = head[:SNIFF_BYTES]
    if (active := _active_markup(head)) is not None:
        return active
    for magic, media_type in _MAGIC:
        if head.startswith(magic):
            return media_type
    return (
        (_RIFF.get(head[8:12]) if head.startswith(b"RIFF") else None)
        or _sniff_iso_media(head)
        or _sniff_ogg(head)
        or _sniff_matroska(head)
        or _sniff_mpeg(head)
        or _sniff_text(head)
        or UNKNOWN_TYPE
    )


def _active_markup(head: bytes) -> str | None:
    """media-06 (RFC 0055, reading): the type of active markup, if the bytes start with it. A byte order mark, white
    space, control characters and comments in front of the markup are skipped."""
    # Reduce the head to ASCII: drop the byte order mark, and the NUL bytes of UTF-16.
    wide = head.startswith(_WIDE_BYTE_ORDER_MARKS)
    text = (head[2:].replace(b"\0", b"") if wide else head.removeprefix(_BYTE_ORDER_MARK)).lstrip(_SKIPPED)
    commented = False
    while text.startswith(b"<!--"):
        commented = True
        end = text.find(b"-->", 4)
        text = text[end + 3 :].lstrip(_SKIPPED) if end >= 0 else b""
    if not commented and not text.startswith(b"<"):
        return None
    if text[:9].lower() == b"<!doctype" or text.startswith(b"<?") or _NAMESPACE.match(text) is not None:
        inside = SVG_TYPE if _SVG_INSIDE.search(text) else HTML_TYPE if _HTML_INSIDE.search(text) else XML_TYPE
        return HTML_TYPE if inside == XML_TYPE and _TAG.match(text) is not None else inside
    if (tag := _TAG.match(text)) is not None:
        return SVG_TYPE if tag[1].lower() == b"svg" else HTML_TYPE
    return HTML_TYPE if commented else None


def _sniff_iso_media(head: bytes) -> str | None:
    """The type of an ISO base media file, from its first box: the major brand, a version, and compatible brands."""
    size = int.from_bytes(head[:4])
    # A real first box is short. Four letters of markup, read as its size, would be a huge number.
    if head[4:8] != b"ftyp" or size % 4 or not 16 <= size <= 512:
        return None
    brands = [head[at : at + 4] for at in (8, *range(16, min(size, len(head)), 4))]
    if brands[0] in (b"M4A ", b"M4B "):
        return "audio/mp4"
    if brands[0] == b"qt  ":
        return None
    return next((media_type for pattern, media_type in _BRANDS if any(map(pattern.fullmatch, brands))), None)


def _sniff_ogg(head: bytes) -> str | None:
    if not head.startswith(b"OggS\x00"):
        return None
    return "video/ogg" if b"\x80theora" in head[:512] else "audio/ogg"


def _sniff_matroska(head: bytes) -> str | None:
    if not head.startswith(b"\x1a\x45\xdf\xa3"):
        return None
    doc_type = re.search(rb"\x42\x82(?:\x84(webm)|\x88(matroska))", head[4:80])
    return None if doc_type is None else "video/webm" if doc_type[1] else "video/x-matroska"


def _sniff_mpeg(head: bytes) -> str | None:
    """MP3 audio: an ID3 tag, or two consecutive frames. A single frame header also occurs in arbitrary bytes."""
    if head.startswith(b"ID3"):
        tag = head[:10]
        plausible = len(tag) == 10 and tag[3] in (2, 3, 4) and tag[4] < 0xFF and max(tag[6:10]) < 0x80
        return "audio/mpeg" if plausible else None
    length = _mpeg_frame_length(head)
    if length is None:
        return None
    return "audio/mpeg" if length == len(head) or _mpeg_frame_length(head[length : length + 4]) is not None else None


def _mpeg_frame_length(head: bytes) -> int | None:
    """The length of the layer III frame that starts here; None if no frame starts here."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE6 != 0xE2 or head[1] & 0x18 == 0x08:
        return None
    version, rate, sample = head[1] >> 3 & 3, head[2] >> 4, head[2] >> 2 & 3
    if rate in (0, 15) or sample == 3:
        return None
    is_mpeg_1 = version == 3
    hertz = _SAMPLE_RATES[sample] >> (0 if is_mpeg_1 else 1 if version == 2 else 2)
    return (144_000 if is_mpeg_1 else 72_000) * _BIT_RATES[is_mpeg_1][rate] // hertz + (head[2] >> 1 & 1)


def _sniff_text(head: bytes) -> str | None:
    text = _decode_head(head)
    if text is None or _CONTROL.search(text) is not None:
        return None
    if _JSON_START.match(text) is None:
        return PLAIN_TYPE
    if len(head) < SNIFF_BYTES:
        try:
            msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return PLAIN_TYPE
    return JSON_TYPE


def _decode_head(head: bytes) -> str | None:
    """The head as text; None if it is not UTF-8 or UTF-16. A character that the end of the head cuts off is dropped."""
    wide = head.startswith(_WIDE_BYTE_ORDER_MARKS)
    for cut in range(4 if len(head) == SNIFF_BYTES else 1):
        try:
            return head[: len(head) - cut].decode("utf-16" if wide else "utf-8-sig")
        except UnicodeDecodeError:
            continue
    return None
