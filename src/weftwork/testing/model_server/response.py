"""A response of the model server before it is written. Faults change it."""

import json
from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec

from weftwork.protocol.json.values import is_object

Headers = tuple[tuple[str, str], ...]


class ServedRequest(msgspec.Struct, frozen=True):
    """A request that the server has received."""

    method: str
    path: str
    headers: dict[str, str]
    """By lower-case name."""
    content: bytes

    @property
    def document(self) -> Any:
        """The body as JSON; None if it is not JSON."""
        try:
            return json.loads(self.content)
        except ValueError:
            return None

    @property
    def key(self) -> str:
        """The API key of the request, from `Authorization: Bearer` or `api-key`; empty if it has none."""
        bearer = self.headers.get("authorization", "")
        return bearer.removeprefix("Bearer ") or self.headers.get("api-key", "")

    @property
    def is_streamed(self) -> bool:
        return self._member("stream") is True

    @property
    def wants_usage(self) -> bool:
        """Whether a stream is to end with its token usage."""
        options = self._member("stream_options")
        return is_object(options) and options.get("include_usage") is True

    @property
    def model(self) -> str:
        name = self._member("model")
        return name if isinstance(name, str) else ""

    def _member(self, name: str) -> Any:
        document = self.document
        return document.get(name) if is_object(document) else None


class WireResponse(msgspec.Struct, frozen=True):
    """What the server writes. Times are in seconds, positions in bytes of the body before its transfer coding."""

    status: int = 200
    headers: Headers = ()
    pieces: Iterable[bytes] = ()
    """The body. The server writes one piece at a time, and takes the next one when it is due."""
    framing: Literal["chunked", "length", "close", "raw"] = "length"
    """How the body ends: with its last chunk, after Content-Length, or with the connection. `raw` writes the pieces
    without a status line and headers."""
    declared_length: int | None = None
    """The value of Content-Length, if it is to differ from the length of the body."""
    first_byte_delay: float = 0.0
    """Before the first byte of the body; the headers are sent at once."""
    interval: float = 0.0
    """Between two pieces of the body."""
    cut_at: int | None = None
    """Close the connection after that many bytes of the body."""
    hang_at: int | None = None
    """Send nothing more after that many bytes of the body, until the client closes the connection."""
    answers: bool = True
    """False: not even the headers are sent."""

    def body(self) -> bytes:
        return b"".join(self.pieces)


Fault = Callable[[WireResponse, ServedRequest], WireResponse]
"""Changes a response. `faults` has some; write your own as a function."""
