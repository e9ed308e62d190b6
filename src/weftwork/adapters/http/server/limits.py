"""Limits on clients: the number of connections, the bodies in memory, and the size and shape of a request head.

Connections above the maximum fall into three bands. The first 64 can still use public paths, so that health probes
work; the next 64 receive a 503 and have a moment to read it; the rest receive the same 503 and are closed at once.
"""

from typing import Final, Literal

from weftwork.adapters.http.asgi import Headers
from weftwork.adapters.http.host_errors import raw_error_response, too_many_bodies, too_many_connections
from weftwork.protocol.fair_share import FairLimit
from weftwork.protocol.wire.v1.routes import ROUTES

SPARE_CONNECTIONS: Final = 64
"""Size of each band above the maximum."""
RESERVED_FILES: Final = 128
"""File descriptors for the store, the listening socket, the log, and connections that are being opened or closed."""
PUBLIC_PATHS: Final = frozenset(
    route.path.encode() for route in ROUTES if route.scope is None and "{" not in route.path
)
"""Paths that spare connections can use."""

Admission = Literal["admitted", "spare", "rejected", "dropped"]


class ConnectionLimit:
    """The maximum number of connections. `rejected_count` counts rejections; the server logs and resets it."""

    __slots__ = ("fault", "max_connections", "rejected_count", "rejection")

    def __init__(self, max_connections: int) -> None:
        self.max_connections = max_connections
        self.fault = too_many_connections(max_connections)
        self.rejection = raw_error_response(self.fault)
        self.rejected_count = 0

    def admit(self, count: int) -> Admission:
        """Decide about a new connection; `count` is the number of open connections, the new one included.

        A `spare` connection may only use public paths. A `rejected` one gets the rejection and time to read it, a
        `dropped` one gets the rejection and is closed at once, which bounds the number of connections being rejected.
        """
        if count <= self.max_connections:
            return "admitted"
        if count <= self.max_connections + SPARE_CONNECTIONS:
            return "spare"
        self.rejected_count += 1
        return "rejected" if count <= self.max_connections + 2 * SPARE_CONNECTIONS else "dropped"

    def rejects(self, count: int, target: bytes) -> bool:
        """Whether a request on a spare connection is refused: while the host is over its maximum, only public paths
        are served."""
        if count <= self.max_connections or target.partition(b"?")[0] in PUBLIC_PATHS:
            return False
        self.rejected_count += 1
        return True


class BodyMemory:
    """Limits the bytes of request bodies in memory: of all requests, of each tenant, and of each API key.

    A body counts with its declared length, or else as it arrives, from its first bytes until its request has been
    answered, because the decoded document takes at least as much memory. Small bodies that arrive with their head are
    not counted: they are decoded at once.
    """

    __slots__ = ("_held_by_key", "_total", "max_bytes_per_key")

    def __init__(self, max_bytes: int, max_bytes_per_key: int, reserved_percent: int) -> None:
        self._total = FairLimit(max_bytes, reserved_percent)
        self._held_by_key: dict[str, int] = {}
        self.max_bytes_per_key = max_bytes_per_key

    @property
    def held(self) -> int:
        """Bytes of all bodies in memory."""
        return self._total.total

    def hold(self, partition: str, key_id: str, size: int) -> None:
        """lim-22 (host): count more bytes of a body. Raises ClientFault, and counts nothing, beyond a limit."""
        held = self._held_by_key.get(key_id, 0)
        if held + size > self.max_bytes_per_key:
            raise too_many_bodies("this key", self.max_bytes_per_key, "max_body_bytes_in_memory_per_key")
        if not self._total.take(partition, size):
            raise too_many_bodies("the host", self._total.limit, "max_body_bytes_in_memory")
        self._held_by_key[key_id] = held + size

    def release(self, partition: str, key_id: str, size: int) -> None:
        self._total.free(partition, size)
        held = self._held_by_key[key_id] - size
        if held:
            self._held_by_key[key_id] = held
        else:
            del self._held_by_key[key_id]


def connections_within(max_connections: int, max_files: int | None) -> int:
    """The maximum number of connections for a process that may open `max_files` files; None means any number."""
    if max_files is None:
        return max_connections
    return max(1, min(max_connections, max_files - 2 * SPARE_CONNECTIONS - RESERVED_FILES))


MAX_HEAD_BYTES: Final = 32_768
"""Maximum bytes of a request besides its body: the head, and separately the chunk framing and trailers of a body."""
MAX_HEADERS: Final = 100
MAX_TARGET_BYTES: Final = 8_192


def head_too_large_message() -> str:
    return f"The request has more than {MAX_HEAD_BYTES} bytes of headers or chunk framing."


def head_size(target: bytes, headers: Headers) -> int:
    """The size of a head in bytes, without the method and version of the request line."""
    return len(target) + sum([len(name) + len(value) + 4 for name, value in headers])


def head_problem(target: bytes, headers: Headers, version: str, upgrade: bool) -> str | None:
    """Why a head is refused, or None.

    Besides the limits, these are the ambiguities of request smuggling: a proxy and the host could disagree about the
    target of the request or about its end.
    """
    if len(headers) > MAX_HEADERS:
        return f"The request has more than {MAX_HEADERS} headers."
    if len(target) > MAX_TARGET_BYTES:
        return f"The request target is longer than {MAX_TARGET_BYTES} bytes."
    # `in` for bytes first tries them as an integer, which costs ten times as much as `find`.
    if (target[:1] != b"/" and target != b"*") or target.find(b"#") >= 0:
        return "The request target must be a path that starts with a slash, without a fragment."
    names = dict(headers)
    if version == "1.1":
        if b"host" not in names:
            return "The request has no Host header."
        if b"transfer-encoding" in names:
            codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
            if codings != [b"chunked"]:
                return "Transfer-Encoding must be chunked."
    elif version != "1.0":
        return "The protocol version must be HTTP/1.1 or HTTP/1.0."
    elif b"transfer-encoding" in names:
        return "HTTP/1.0 does not support Transfer-Encoding."
    if upgrade and (b"transfer-encoding" in names or b"content-length" in names):
        # The parser stops after the head of an upgrade request and would treat the body as the next request.
        return "A request with an Upgrade header must not have a body."
    return None
