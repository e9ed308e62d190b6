"""Limits on clients: the number of connections, and the size and shape of a request head.

Connections above the maximum fall into three bands. The first are still read, so that health probes get through;
the next receive a 503 and a moment to read it; the rest receive the same 503 and are closed at once.
"""

from typing import Final, Literal

from weftwork.adapters.http.asgi import Headers
from weftwork.adapters.http.host_errors import raw_error_response, too_many_connections
from weftwork.protocol.wire.v1.routes import ROUTES

SPARE_CONNECTIONS: Final = 64
"""Connections above the cap that are still read, so that probes find out how the host is."""
RESERVED_FILES: Final = 128
"""Files that the host keeps for its store, its socket, its log and connections on their way in or out."""
PUBLIC_PATHS: Final = frozenset(
    route.path.encode() for route in ROUTES if route.scope is None and "{" not in route.path
)
"""Paths that are answered on spare connections."""

Admission = Literal["admitted", "spare", "rejected", "dropped"]


class ConnectionLimit:
    """The maximum number of connections. `rejected_count` counts rejections; the server logs and resets it."""

    __slots__ = ("fault", "max_connections", "rejected_count", "rejection")

    def __init__(self, max_connections: int) -> None:
        self.max_connections = max_connections
        self.fault = too_many_connections()
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
        """Whether a request on a spare connection is refused: while it is crowded, all but the public ones are."""
        if count <= self.max_connections or target.partition(b"?")[0] in PUBLIC_PATHS:
            return False
        self.rejected_count += 1
        return True


def connections_within(wanted: int, files: int | None) -> int:
    """How many of the wanted connections a process with so many files may have; the rest is for everything else."""
    return wanted if files is None else max(1, min(wanted, files - 2 * SPARE_CONNECTIONS - RESERVED_FILES))


MAX_HEAD_BYTES: Final = 32_768
"""Bytes of a request that are not its body; they are also counted between and behind the pieces of a body."""
MAX_HEADERS: Final = 100
MAX_TARGET_BYTES: Final = 8_192


def head_too_large_message() -> str:
    return f"The request has more than {MAX_HEAD_BYTES} bytes that are not its body."


def head_size(target: bytes, headers: Headers) -> int:
    """About the bytes of a head; at most those of one line are missing."""
    return len(target) + sum([len(name) + len(value) + 4 for name, value in headers])


def head_problem(target: bytes, headers: Headers, version: str, upgrade: bool) -> str | None:
    """Why a head is refused, or None.

    Each of these is a place where two readers of the same bytes can disagree about what is asked, or where it ends.
    """
    if len(headers) > MAX_HEADERS:
        return f"The request has more than {MAX_HEADERS} headers."
    if len(target) > MAX_TARGET_BYTES:
        return f"The request target is longer than {MAX_TARGET_BYTES} bytes."
    if (target[:1] != b"/" and target != b"*") or b"#" in target:
        return "The request target must be a path that starts with a slash, without a fragment."
    names = [name for name, _ in headers]
    if version == "1.1":
        if b"host" not in names:
            return "The request has no Host header."
        if b"transfer-encoding" in names:
            codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
            if codings != [b"chunked"]:
                return "The only transfer coding is chunked."
    elif version != "1.0":
        return "The protocol is HTTP/1.1 or HTTP/1.0."
    elif b"transfer-encoding" in names:
        return "HTTP/1.0 has no transfer codings."
    if upgrade and (b"transfer-encoding" in names or b"content-length" in names):
        # The parser takes what follows an upgrade for something else than a body.
        return "A request that offers an upgrade must not have a body."
    return None
