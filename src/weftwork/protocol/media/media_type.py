"""Media types: their names, which of them a browser may show in place, and which one bytes are served as."""

import re
from typing import Final

UNKNOWN: Final = "application/octet-stream"
PLAIN: Final = "text/plain"
JSON: Final = "application/json"
HTML: Final = "text/html"
SVG: Final = "image/svg+xml"
XML: Final = "application/xml"

ACTIVE: Final = frozenset({HTML, SVG, XML})
"""What may hold scripts, and so is never taken for anything else."""
INLINE: Final = frozenset(
    {
        "image/png",
        "image/jpeg",
        "image/gif",
        "image/webp",
        "image/avif",
        "audio/mpeg",
        "audio/ogg",
        "audio/wav",
        "audio/mp4",
        "audio/webm",
        "video/mp4",
        "video/webm",
    }
)
"""media-07 (RFC 0055, reading): what a browser may show in place. Everything else is a download."""

MAX_MEDIA_TYPE: Final = 127

_FORM: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,100}/[a-z0-9][a-z0-9!#$&^_.+-]{0,100}")
_ALIASES: Final = {
    "application/csv": "text/csv",
    "application/markdown": "text/markdown",
    "application/ogg": "audio/ogg",
    "application/x-gzip": "application/gzip",
    "application/x-json": JSON,
    "application/x-pdf": "application/pdf",
    "application/x-yaml": "application/yaml",
    "application/x-zip": "application/zip",
    "application/x-zip-compressed": "application/zip",
    "audio/m4a": "audio/mp4",
    "audio/mp3": "audio/mpeg",
    "audio/opus": "audio/ogg",
    "audio/vnd.wave": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/x-flac": "audio/flac",
    "audio/x-m4a": "audio/mp4",
    "audio/x-mp3": "audio/mpeg",
    "audio/x-mpeg": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/svg": SVG,
    "image/x-png": "image/png",
    "text/json": JSON,
    "text/x-markdown": "text/markdown",
    "text/xml": XML,
    "text/yaml": "application/yaml",
    "video/x-m4v": "video/mp4",
}
_NARROWER: Final = {
    "video/mp4": frozenset({"audio/mp4"}),
    "video/webm": frozenset({"audio/webm"}),
    "application/zip": frozenset({"application/epub+zip"}),
}
"""What may be declared of bytes that look like the more general type: the first bytes do not tell these apart."""
_OFFICE: Final = re.compile(r"application/vnd\.(?:openxmlformats-officedocument|oasis\.opendocument)\.[a-z0-9.-]+")
_TEXTUAL: Final = re.compile(
    r"text/.+|application/(?:json|yaml|toml|sql|rtf|x-ndjson|jsonl|x-jsonlines|graphql|.+\+json|.+\+yaml|"
    r"(?:x-)?(?:java|ecma)script)"
)
_RUNS: Final = re.compile(r"html|script|/css|[/+]xml|/xsl|/x-component|manifest|policy|wasm|speculationrules|importmap")
"""In the name of a type that a browser runs, applies or obeys."""


def canonical(declared: str) -> str:
    """The one name of a type, without parameters; UNKNOWN for what is no media type."""
    if len(declared) > 1024:
        return UNKNOWN
    name = declared.partition(";")[0].strip(" \t").lower()
    if len(name) > MAX_MEDIA_TYPE or _FORM.fullmatch(name) is None:
        return UNKNOWN
    return _ALIASES.get(name, name)


def settled(declared: str, looks: str) -> str:
    """media-08 (RFC 0055, reading): the media type under which bytes are kept and served: what they are said to be, if
    that is what they look like; what they look like, if nothing is said; else UNKNOWN.

    Text is what it is said to be, except a type that browsers run: that is served as plain text.
    """
    if not declared:
        return looks
    name = canonical(declared)
    if name == looks or name in _NARROWER.get(looks, ()):
        return name
    if looks == "application/zip" and _OFFICE.fullmatch(name) is not None:
        return name
    if looks == XML and name.endswith("+xml") and name != SVG:
        return XML
    if looks in (PLAIN, JSON) and _TEXTUAL.fullmatch(name) is not None:
        return name if harmless(name) else PLAIN
    return UNKNOWN


def harmless(media_type: str) -> bool:
    """Whether no browser runs, applies or obeys what has this type."""
    return _RUNS.search(media_type) is None


def is_inline(media_type: str) -> bool:
    """media-07: whether it may be shown in place."""
    return media_type in INLINE
