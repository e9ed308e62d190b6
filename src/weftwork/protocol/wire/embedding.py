"""Pages of other origins that may call the routes of a signed link from a browser (CORS).

The token of the link is the only credential of these routes: a browser adds no cookie and no key by itself. So a page
of a listed origin can do what anybody with the link can do, and nothing else. Routes that need an API key are never
available to other origins, because a key must not be in a page.
"""

import re
from typing import Final

Headers = list[tuple[bytes, bytes]]

ANY_ORIGIN: Final = "*"
"""In the list of origins: every page."""
EMBEDDED_OPERATIONS: Final = frozenset({"getSurfaceByToken", "actOnSurfaceByToken"})
"""Operations that pages of the listed origins may call."""
_ORIGIN: Final = re.compile(r"https?://(?:[a-z0-9][a-z0-9._-]{0,252}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?")
_PREFLIGHT: Final[Headers] = [
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"content-type, idempotency-key"),
    (b"access-control-max-age", b"600"),
]


def is_origin(text: str) -> bool:
    """Whether the text can be in the list of origins: scheme, name and port as a browser sends them, or ANY_ORIGIN."""
    return text == ANY_ORIGIN or _ORIGIN.fullmatch(text) is not None


def embedding_headers(
    allowed: frozenset[str], operations: frozenset[str], origin: str | None, is_preflight: bool = False
) -> Headers:
    """surf-64 (host): the headers with which a browser lets a page of this origin call the operations of a path.

    Empty if the path has no embedded operation. Empty for a preflight request of a page that is not in the list.
    """
    if not operations & EMBEDDED_OPERATIONS:
        return []
    name = ANY_ORIGIN if ANY_ORIGIN in allowed else origin if origin in allowed else None
    headers: Headers = [] if name is None else [(b"access-control-allow-origin", name.encode("ascii"))]
    if is_preflight:
        return [*headers, *_PREFLIGHT] if headers else []
    # A cache must not give the response for one origin to another one.
    return [(b"vary", b"origin"), *headers]
