"""Rules of outbound requests: allowed methods and headers, and how redirects change a request."""

import re
from typing import Final

import msgspec

from weftwork.protocol.net.target import OutboundPolicy, OutboundRefused, RequestTarget, parse_target, resolve_reference

SAFE_METHODS: Final[tuple[str, ...]] = ("GET", "HEAD", "OPTIONS")
IDEMPOTENT_METHODS: Final[tuple[str, ...]] = (*SAFE_METHODS, "PUT", "DELETE")
"""Methods with the same effect if the request is sent twice (RFC 9110 section 9.2.2)."""
METHODS: Final[tuple[str, ...]] = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
MAX_REDIRECTS: Final = 3
MAX_HEADERS: Final = 100
MAX_HEADER_BYTES: Final = 32_768

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_HEADER_VALUE: Final = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?")
_RESERVED_HEADERS: Final = frozenset(
    "accept-encoding connection content-length expect host http2-settings keep-alive te trailer transfer-encoding "
    "upgrade".split()
)
_CROSS_ORIGIN_HEADERS: Final = re.compile(
    "accept(-language)?|content-(type|encoding|language)|user-agent", re.IGNORECASE
)
"""Headers that are kept in a redirect to another origin. Any other header may hold a secret and is dropped."""
_REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})

Headers = tuple[tuple[str, str], ...]


class FetchLimits(msgspec.Struct, frozen=True):
    """Limits of one request including its redirects: the total time, and the size of the decoded response body."""

    timeout_ms: int = 10_000
    max_bytes: int = 10 * 2**20


class CheckedRequest(msgspec.Struct, frozen=True):
    """A request to one target that has passed all checks."""

    target: RequestTarget
    method: str
    headers: Headers
    content: bytes


def check_request(url: str, method: str, headers: Headers, content: bytes, policy: OutboundPolicy) -> CheckedRequest:
    """out-03 (RFC 0076): check a request. Raises OutboundRefused if it is not allowed."""
    if method not in METHODS:
        raise OutboundRefused(f"The method of the request must be one of {', '.join(METHODS)}.")
    _check_headers(headers)
    return CheckedRequest(parse_target(url, policy), method, headers, content)


def _check_headers(headers: Headers) -> None:
    if len(headers) > MAX_HEADERS or sum(len(name) + len(value) for name, value in headers) > MAX_HEADER_BYTES:
        raise OutboundRefused(
            f"The headers of the request exceed the limit of {MAX_HEADERS} headers or {MAX_HEADER_BYTES} bytes."
        )
    for original_name, value in headers:
        name = original_name.lower()
        if not _HEADER_NAME.fullmatch(original_name) or not _HEADER_VALUE.fullmatch(value):
            raise OutboundRefused("A header of the request is malformed: names and values must be one line of ASCII.")
        if name in ("upgrade", "http2-settings") or (name == "connection" and "upgrade" in value.lower()):
            raise OutboundRefused("The request asks for a protocol upgrade, which is not supported.", "upgrade")
        if is_reserved_header(name):
            raise OutboundRefused(
                "The request sets a header that only the host may set: "
                f"{', '.join(sorted(_RESERVED_HEADERS))} or proxy-*."
            )


def is_reserved_header(name: str) -> bool:
    """out-03 (RFC 0076): whether only the host may set this header."""
    name = name.lower()
    return name in _RESERVED_HEADERS or name.startswith("proxy-")


def follow_redirect(
    sent: CheckedRequest, status: int, location: str | None, policy: OutboundPolicy
) -> CheckedRequest | None:
    """out-04 (RFC 0076): the request that follows a redirect, checked like the first one; None if the response is not
    a redirect.

    Raises OutboundRefused if the redirect is not allowed. Headers that may hold secrets are not sent to another origin.
    """
    if status not in _REDIRECT_STATUSES or location is None:
        return None
    target = parse_target(resolve_reference(sent.target, location), policy)
    if sent.target.scheme == "https" and target.scheme == "http":
        raise OutboundRefused("The server redirects from https to http, which is blocked.")
    method, headers, content = sent.method, sent.headers, sent.content
    if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
        method, content = "GET", b""
        headers = tuple(each for each in headers if not each[0].lower().startswith("content-"))
    if target.origin != sent.target.origin:
        headers = tuple(each for each in headers if _CROSS_ORIGIN_HEADERS.fullmatch(each[0]))
    return CheckedRequest(target, method, headers, content)
