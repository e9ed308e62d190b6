"""The headers of every answer about an asset.

Theory. Bytes that somebody sent are shown by browsers on an origin of ours. None of these headers is enough by itself:
the type is not guessed, what could run is saved and not shown, and what is shown anyhow is in a sandbox that loads
nothing. Each of them stands on every answer. Source: RFC 0055, reading.
"""

from typing import Final, Literal

from weftwork.protocol.media.byte_range import etag
from weftwork.protocol.media.disposition import disposition
from weftwork.protocol.media.media_type import ACTIVE, PLAIN, canonical, harmless

Headers = list[tuple[bytes, bytes]]

MAX_AGE: Final = 31_536_000
"""A year in seconds, which is for ever."""

Reach = Literal["same-origin", "same-site", "cross-origin"]
"""Whose pages may show an asset: those of the same origin, of the same site, or of anybody who has its URL."""
NEAR: Final[Reach] = "same-site"

GUARDS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; sandbox"),
    (b"cross-origin-resource-policy", NEAR.encode()),
    (b"referrer-policy", b"no-referrer"),
)
"""media-13 (RFC 0055, reading): on 200, 206, 304, 404 and 416."""

REFUSED_HEADERS: Final = (*GUARDS, (b"cache-control", b"no-store"))
"""media-13: on 404 and 416, whose bodies are ours."""


def asset_headers(
    token_media_type: str, name: str, sha256: str, max_age: int = MAX_AGE, reach: Reach = NEAR
) -> Headers:
    """media-13: on 200, 206 and 304. What is not known of the length is left to whoever sends it.

    `max_age` is in seconds: how long the token lasts, at most.
    """
    guards = dict(GUARDS) | ({b"cross-origin-resource-policy": reach.encode()} if reach != NEAR else {})
    media_type = served_type(token_media_type)
    kept = min(max(max_age, 0), MAX_AGE)
    return [
        (b"content-type", media_type.encode("ascii")),
        (b"content-disposition", disposition(media_type, name)),
        *guards.items(),
        (b"cache-control", b"private, max-age=%d, immutable" % kept),
        (b"accept-ranges", b"bytes"),
        (b"etag", etag(sha256).encode("ascii")),
    ]


def served_type(media_type: str) -> str:
    """A type as it is served: one name, and none that a browser would run from a page of somebody else."""
    name = canonical(media_type)
    return name if name in ACTIVE or harmless(name) else PLAIN
