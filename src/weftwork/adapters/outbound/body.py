"""The body of a response: where it ends, and how it is decoded, within the limit of decoded and of received bytes."""

import zlib
from collections.abc import Coroutine
from typing import Any, Final

import httptools

from weftwork.adapters.outbound.connection import OutboundConnection, WaitLimit
from weftwork.adapters.outbound.response import RawResponse
from weftwork.ports.outbound import FailureReason, FetchFailed

_DECODE_STEP_BYTES: Final = 262_144
"""Maximum bytes decoded at a time, so that a small compressed chunk cannot become a large one in memory."""
_GZIP_OVERHEAD_BYTES: Final = 1024
_GZIP_OVERHEAD_SHARE: Final = 64
"""What a gzip body may have in addition to its decoded bytes: this many, and one per so many decoded bytes. Data that
cannot be compressed grows by 5 bytes per block of 16 KiB (RFC 1951, section 3.2.4), and by 20 per member."""
_GZIP_WBITS: Final = 16 + zlib.MAX_WBITS
MAX_FRAMING_BYTES: Final = 102_400
"""Received bytes of chunk extensions and trailers without any byte of the body between them."""

INVALID_RESPONSE: Final = "The server sent an invalid or incomplete HTTP response."
LOST: Final = "The connection was lost."


class InvalidBody(Exception):
    """A body is too large or cannot be decoded. The message contains nothing from the server."""

    def __init__(self, message: str, reason: FailureReason = "invalid") -> None:
        super().__init__(message)
        self.reason: FailureReason = reason


def body_failure(failure: InvalidBody | OSError, sent: bool) -> FetchFailed:
    """What the client raises for a failure of a body."""
    if isinstance(failure, InvalidBody):
        return FetchFailed(str(failure), sent, failure.reason)
    return FetchFailed(LOST, sent)


class BodyDecoder:
    """Decodes a body as it arrives. Raises InvalidBody.

    The limit counts decoded bytes, so a decompression bomb stops there. Received bytes have almost the same limit, so
    compressed data that decodes to nothing, such as empty members, stops as well.
    """

    def __init__(self, encoding: str, max_bytes: int) -> None:
        coding = encoding.strip().lower()
        if coding not in ("", "identity", "gzip", "x-gzip"):
            raise InvalidBody("The response has a Content-Encoding other than gzip, which is not supported.")
        self._gzip = _GzipDecoder() if coding.endswith("gzip") else None
        self._max_bytes = max_bytes
        self._room = max_bytes
        self._receivable = max_bytes + max_bytes // _GZIP_OVERHEAD_SHARE + _GZIP_OVERHEAD_BYTES

    def decode(self, chunk: bytes) -> bytes:
        """The decoded piece; empty if more data is needed to decode it."""
        if self._gzip is None:
            self._count(len(chunk), len(chunk))
            return chunk
        piece = bytearray()
        self.decode_into(piece, chunk)
        return bytes(piece)

    def decode_into(self, body: bytearray, chunk: bytes) -> None:
        """Append the decoded piece to `body`."""
        start = len(body)
        if self._gzip is None:
            body += chunk
        else:
            self._gzip.decompress_into(body, chunk, start + self._room)
        self._count(len(chunk), len(body) - start)

    def end(self) -> None:
        """Check that the body is complete."""
        if self._gzip is not None and not self._gzip.is_complete:
            raise InvalidBody("The gzip data of the response is incomplete.")

    def _count(self, received: int, decoded: int) -> None:
        self._receivable -= received
        self._room -= decoded
        if self._room < 0 or self._receivable < 0:
            raise InvalidBody(f"The response is larger than {self._max_bytes} bytes.", "too_large")


class _GzipDecoder:
    """Decodes a sequence of gzip members (RFC 1952, section 2.2)."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP_WBITS)
        self._started = False

    @property
    def is_complete(self) -> bool:
        return not self._started or self._member.eof

    def decompress_into(self, body: bytearray, data: bytes, max_bytes: int) -> None:
        """Append the decoded data to the body. Stops when the body exceeds `max_bytes`. Raises InvalidBody."""
        try:
            while data and len(body) <= max_bytes:
                if self._member.eof:
                    self._member = zlib.decompressobj(_GZIP_WBITS)
                self._started = True
                body += self._member.decompress(data, _DECODE_STEP_BYTES)
                data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        except zlib.error:
            raise InvalidBody("The response is not valid gzip data, as its Content-Encoding says.") from None


class _Chunks:
    """Reads the chunked coding (RFC 9112, section 7.1)."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.on_body = self._pieces.append
        self.is_complete = False
        self._piece_count = 0
        """The pieces of the body that arrived together with its end."""
        self.invalid = b""
        """Data that is not all valid. What was valid in it is returned first; then `feed` raises."""
        self._framing_bytes = 0
        self._parser = httptools.HttpResponseParser(self)
        # Some servers reserve room for the size and fill it with spaces.
        self._parser.set_dangerous_leniencies(lenient_spaces_after_chunk_size=True)
        # The head was read and checked before; the parser only has to know the coding of the body.
        self._parser.feed_data(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")

    def feed(self, data: bytes) -> bytes:
        """What the data has of the body. Raises InvalidBody."""
        if self.invalid:
            raise InvalidBody(INVALID_RESPONSE)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if not self.is_complete:
                self.invalid = data
        pieces = self._pieces
        if self.is_complete:
            # Bytes after the end of the body belong to no response, because the host sends one request. The parser
            # reads another response in them.
            del pieces[self._piece_count :]
        if pieces:
            self._framing_bytes = 0
            received = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            pieces.clear()
            return received
        self._framing_bytes += len(data)
        if self.invalid or (self._framing_bytes > MAX_FRAMING_BYTES and not self.is_complete):
            raise InvalidBody(INVALID_RESPONSE)
        return b""

    def on_message_complete(self) -> None:
        if not self.is_complete:
            self.is_complete = True
            self._piece_count = len(self._pieces)


class StreamedBody:
    """The body of a response as it arrives on a connection."""

    def __init__(
        self, method: str, head: RawResponse, connection: OutboundConnection, rest: bytes, max_bytes: int
    ) -> None:
        """`head` was checked by the HTTP library; `rest` is what has arrived after it. Raises InvalidBody."""
        self._connection = connection
        self._rest = rest
        self._decoder = BodyDecoder(head.header("content-encoding") or "", max_bytes)
        length = head.header("content-length")
        self._chunks = _Chunks() if head.header("transfer-encoding") is not None else None
        self._length = int(length) if length is not None and self._chunks is None else None
        """What is missing of a body with a known length."""
        if head.status in (204, 304) or method == "HEAD":
            self._chunks, self._length = None, 0
        self._is_complete = self._length == 0

    async def read(self) -> bytes:
        """The next decoded piece; empty at the complete end of the body. Raises InvalidBody, OSError."""
        while (piece := self.take()) is None:
            await self.wait()
        return piece

    def wait(self, limit: WaitLimit | None = None) -> Coroutine[Any, Any, None]:
        """Wait for the next bytes, after `take` has returned None."""
        return self._connection.wait(limit)

    def take(self) -> bytes | None:
        """As `read`; None if the next piece has not arrived."""
        while not self._is_complete:
            if not self._rest and not self._connection.is_ready:
                return None
            data = self._rest or self._connection.take() or b""
            self._rest = b""
            if not data:
                self._end_of_connection()
            elif self._chunks is not None:
                data = self._chunks.feed(data)
                self._rest = self._chunks.invalid
                self._is_complete = self._chunks.is_complete
            elif self._length is not None:
                data = data[: self._length]
                self._length -= len(data)
                self._is_complete = not self._length
            if data and (piece := self._decoder.decode(data)):
                return piece
        self._decoder.end()
        return b""

    def _end_of_connection(self) -> None:
        if self._chunks is not None or self._length is not None:
            raise InvalidBody(INVALID_RESPONSE, "lost")
        self._is_complete = True
