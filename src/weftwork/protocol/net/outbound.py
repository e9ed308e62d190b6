"""Outbound requests: which methods and headers are allowed, and what a redirect makes of a request."""

import re
from typing import Final

import msgspec

from weftwork.protocol.net.target import OutboundPolicy, OutboundRefused, RequestTarget, parse_target, resolve_reference

SAFE_METHODS: Final[tuple[str, ...]] = ("GET", "HEAD", "OPTIONS")
IDEMPOTENT_METHODS: Final[tuple[str, ...]] = (*SAFE_METHODS, "PUT", "DELETE")
"""Methods that do the same when they are sent twice."""
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
"""What another origin may see after a redirect. Anything else may be a secret, whatever it is called."""
_REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})

Headers = tuple[tuple[str, str], ...]


class FetchLimits(msgspec.Struct, frozen=True):
    """For one request with its redirects: the whole time, and the bytes of an answer after decoding."""

    timeout_ms: int = 10_000
    max_bytes: int = 10 * 2**20


class CheckedRequest(msgspec.Struct, frozen=True):
    """A request as it goes to one target."""

    target: RequestTarget
    method: str
    headers: Headers
    content: bytes


def check_request(url: str, method: str, headers: Headers, content: bytes, policy: OutboundPolicy) -> CheckedRequest:
    """out-03 (RFC 0076): a request that may go out. Raises OutboundRefused."""
    if method not in METHODS:
        raise OutboundRefused("The method is not one that requests may use.")
    _check_headers(headers)
    return CheckedRequest(parse_target(url, policy), method, headers, content)


def _check_headers(headers: Headers) -> None:
    if len(headers) > MAX_HEADERS or sum(len(name) + len(value) for name, value in headers) > MAX_HEADER_BYTES:
        raise OutboundRefused("The request has too many headers, or too large ones.")
    for given, value in headers:
        name = given.lower()
        if not _HEADER_NAME.fullmatch(given) or not _HEADER_VALUE.fullmatch(value):
            raise OutboundRefused("A header of the request is not one line of ASCII.")
        if name in ("upgrade", "http2-settings") or (name == "connection" and "upgrade" in value.lower()):
            raise OutboundRefused("Connections are not upgraded.", "upgrade")
        if name in _RESERVED_HEADERS or name.startswith("proxy-"):
            raise OutboundRefused("A header of the request is for the host to set.")


def follow_redirect(
    sent: CheckedRequest, status: int, location: str | None, policy: OutboundPolicy
) -> CheckedRequest | None:
    """out-04 (RFC 0076): what an answer asks to send next, read and checked like the first; None if nothing.

    Raises OutboundRefused. Secrets stay with the origin that they were given for.
    """
    if status not in _REDIRECT_STATUSES or location is None:
        return None
    target = parse_target(resolve_reference(sent.target, location), policy)
    if sent.target.scheme == "https" and target.scheme == "http":
        raise OutboundRefused("A redirect leads from https to http.")
    method, headers, content = sent.method, sent.headers, sent.content
    if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
        method, content = "GET", b""
        headers = tuple(each for each in headers if not each[0].lower().startswith("content-"))
    if target.origin != sent.target.origin:
        headers = tuple(each for each in headers if _CROSS_ORIGIN_HEADERS.fullmatch(each[0]))
    return CheckedRequest(target, method, headers, content)
