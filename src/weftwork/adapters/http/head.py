"""The head of a request: how large it may be, and what the parser lets through that we do not."""

from typing import Final

from weftwork.adapters.http.asgi import Headers

HEAD_BYTES: Final = 32_768
"""Bytes of a request that are not its body; they are also counted between and behind the pieces of a body."""
MAX_HEADERS: Final = 100
TARGET_BYTES: Final = 8_192


def oversize() -> str:
    return f"The request has more than {HEAD_BYTES} bytes that are not its body."


def weigh(target: bytes, headers: Headers) -> int:
    """About the bytes of a head; at most those of one line are missing."""
    return len(target) + sum([len(name) + len(value) + 4 for name, value in headers])


def head_fault(target: bytes, headers: Headers, version: str, upgrade: bool) -> str | None:
    """Why a head is refused, or None.

    Each of these is a place where two readers of the same bytes can disagree about what is asked, or where it ends.
    """
    if len(headers) > MAX_HEADERS:
        return f"The request has more than {MAX_HEADERS} headers."
    if len(target) > TARGET_BYTES:
        return f"The request target is longer than {TARGET_BYTES} bytes."
    if (target[:1] != b"/" and target != b"*") or b"#" in target:
        return "The request target must be a path that starts with a slash, without a fragment."
    names = [name for name, _ in headers]
    if version == "1.1":
        if b"host" not in names:
            return "The request has no Host header."
        if b"transfer-encoding" in names and not _is_chunked(headers):
            return "The only transfer coding is chunked."
    elif version != "1.0":
        return "The protocol is HTTP/1.1 or HTTP/1.0."
    elif b"transfer-encoding" in names:
        return "HTTP/1.0 has no transfer codings."
    if upgrade and (b"transfer-encoding" in names or b"content-length" in names):
        # The parser takes what follows an upgrade for something else than a body.
        return "A request that offers an upgrade must not have a body."
    return None


def _is_chunked(headers: Headers) -> bool:
    return [value.lower() for name, value in headers if name == b"transfer-encoding"] == [b"chunked"]
