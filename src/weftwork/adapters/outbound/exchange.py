"""One request and its response, on its own connection. The only module that uses httpcore2; loaded when needed.

Connections are not reused. The server may close a kept connection while the next request is being sent, and the host
could then not know whether the request arrived. A kept connection would also outlive the check of its address.

The body of a response is decoded as it arrives, and reading stops at the size limit, of decoded and of received bytes.
"""

import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Any, Final, cast

import httpcore2
import msgspec

from weftwork.adapters.outbound.guard import NOT_PUBLIC, AddressGuard, Unreachable
from weftwork.adapters.outbound.response import RawResponse, SendProgress
from weftwork.ports.outbound import FailureReason, FetchFailed, FetchRefused
from weftwork.protocol.net.outbound import CheckedRequest

CONNECT_SECONDS: Final = 3.0
"""Timeout for one of several addresses. The last address may use all the time that remains."""
MAX_ADDRESSES_TRIED: Final = 4

_DECODE_STEP_BYTES: Final = 262_144
"""Maximum bytes decoded at a time, so that a small compressed chunk cannot become a large one in memory."""
_GZIP_OVERHEAD_BYTES: Final = 1024
_GZIP_OVERHEAD_SHARE: Final = 64
"""What a gzip body may have in addition to its decoded bytes: this many, and one per so many decoded bytes. Data that
cannot be compressed grows by 5 bytes per block of 16 KiB (RFC 1951, section 3.2.4), and by 20 per member."""
_GZIP_WBITS: Final = 16 + zlib.MAX_WBITS
_UPGRADE_ERROR: Final = "_SWITCH_UPGRADE"
"""Part of the parser's error message for a response with status 101, which the host never requests."""
_CUT_ERROR: Final = "peer closed connection"
"""Part of the parser's error message for a connection that ends in the middle of a body."""


class InvalidBody(Exception):
    """A body is too large or cannot be decoded. The message contains nothing from the server."""

    def __init__(self, message: str, reason: FailureReason = "invalid") -> None:
        super().__init__(message)
        self.reason: FailureReason = reason


_FAILURES: Final = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
    OSError,
    Unreachable,
    InvalidBody,
)


class HttpExchange:
    """Sends requests. It trusts the certificates of the system, which are read once."""

    def __init__(self, guard: AddressGuard, agent: str) -> None:
        self._guard = guard
        self._agent = agent
        self._tls = ssl.create_default_context()

    async def send(self, outgoing: CheckedRequest, max_bytes: int, progress: SendProgress) -> RawResponse:
        """Raises FetchRefused or FetchFailed. Sets `progress.sent` when the request may have reached the server."""
        async with self._open(outgoing, progress) as response:
            with _mapped_failures(progress):
                return await _read_response(response, outgoing.method, max_bytes)

    @asynccontextmanager
    async def stream(
        self, outgoing: CheckedRequest, max_bytes: int, progress: SendProgress
    ) -> AsyncGenerator[tuple[RawResponse, AsyncGenerator[bytes, None]]]:
        """The response without its content, and the decoded pieces of its content. Raises FetchRefused or FetchFailed,
        and the generator FetchFailed."""
        async with self._open(outgoing, progress) as response:
            raw = _read_head(response)
            with _mapped_failures(progress):
                decoder = BodyDecoder(raw.header("content-encoding") or "", max_bytes)
            yield raw, _decoded_pieces(response, decoder, progress)

    @asynccontextmanager
    async def _open(self, outgoing: CheckedRequest, progress: SendProgress) -> AsyncGenerator[httpcore2.Response]:
        """Connect, send the request and read the head of the response; the connection is closed at the end."""
        target = outgoing.target
        url = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        request = httpcore2.Request(outgoing.method, url, headers=self._headers(outgoing), content=outgoing.content)
        network = _PinnedBackend(self._guard, progress)
        connection = httpcore2.AsyncHTTPConnection(url.origin, self._tls, network_backend=network)
        try:
            with _mapped_failures(progress):
                response = await connection.handle_async_request(request)
            yield response
        finally:
            await connection.aclose()
            # After a handshake that failed, httpcore2 does not own the stream yet and does not close it.
            await network.close()

    def _headers(self, outgoing: CheckedRequest) -> list[tuple[str, str]]:
        names = {name.lower() for name, _ in outgoing.headers}
        defaults = [("User-Agent", self._agent), ("Accept", "*/*")]
        headers = [("Host", outgoing.target.authority), *(each for each in defaults if each[0].lower() not in names)]
        headers += [*outgoing.headers, ("Accept-Encoding", "gzip"), ("Connection", "close")]
        if outgoing.content or outgoing.method in ("POST", "PUT", "PATCH"):
            headers.append(("Content-Length", str(len(outgoing.content))))
        return headers


@contextmanager
def _mapped_failures(progress: SendProgress) -> Generator[None]:
    """Raises FetchRefused or FetchFailed instead of the exceptions of httpcore2 and of sockets."""
    try:
        yield
    except _FAILURES as failure:
        raise _port_failure(failure, progress.sent) from None


def _port_failure(failure: BaseException, sent: bool) -> FetchFailed | FetchRefused:
    if isinstance(failure, httpcore2.RemoteProtocolError) and _UPGRADE_ERROR in str(failure):
        return FetchRefused("upgrade", "The server tried to upgrade the connection.")
    if isinstance(failure, InvalidBody):
        return FetchFailed(str(failure), sent, failure.reason)
    return FetchFailed(_failure_message(failure), sent, _failure_reason(failure))


def _failure_reason(failure: BaseException) -> FailureReason:
    if isinstance(failure, Unreachable | httpcore2.ConnectError | httpcore2.ConnectTimeout):
        return "connect"
    is_invalid = isinstance(failure, httpcore2.ProtocolError) and _CUT_ERROR not in str(failure)
    return "invalid" if is_invalid else "lost"


def _read_head(response: httpcore2.Response) -> RawResponse:
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers)
    return RawResponse(response.status, headers)


async def _read_response(response: httpcore2.Response, method: str, max_bytes: int) -> RawResponse:
    raw = _read_head(response)
    if method == "HEAD":
        return raw
    encoding = raw.header("content-encoding") or ""
    async with aclosing(response.aiter_stream()) as chunks:
        return msgspec.structs.replace(raw, content=await read_body(chunks, encoding, max_bytes))


def _failure_message(failure: BaseException) -> str:
    if isinstance(failure, Unreachable):
        return str(failure)
    if isinstance(failure.__cause__, ssl.SSLError):
        return "The TLS handshake failed: the server has no TLS, or its certificate is not valid for this name."
    if isinstance(failure, httpcore2.ConnectError | httpcore2.ConnectTimeout):
        return "The connection could not be established."
    if isinstance(failure, httpcore2.ProtocolError):
        return "The server sent an invalid or incomplete HTTP response."
    return "The connection was lost."


async def read_body(chunks: AsyncIterator[bytes], encoding: str, max_bytes: int) -> bytes:
    """The decoded body. Raises InvalidBody.

    The limit counts decoded bytes, so a decompression bomb stops there. Received bytes have almost the same limit, so
    compressed data that decodes to nothing, such as empty members, stops as well.
    """
    decoder = BodyDecoder(encoding, max_bytes)
    body = bytearray()
    async for chunk in chunks:
        decoder.decode_into(body, chunk)
    decoder.end()
    return bytes(body)


async def _decoded_pieces(
    response: httpcore2.Response, decoder: "BodyDecoder", progress: SendProgress
) -> AsyncGenerator[bytes, None]:
    """The same, piece by piece. Raises FetchFailed."""
    try:
        async with aclosing(response.aiter_stream()) as chunks:
            async for chunk in chunks:
                if piece := decoder.decode(chunk):
                    yield piece
        decoder.end()
    except _FAILURES as failure:
        raise _port_failure(failure, progress.sent) from None


class BodyDecoder:
    """Decodes a body as it arrives, within the limit of decoded and of received bytes. Raises InvalidBody."""

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


class _PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Connects only to addresses that the guard has checked, and checks the peer address after connecting."""

    def __init__(self, guard: AddressGuard, progress: SendProgress) -> None:
        self._guard = guard
        self._progress = progress
        self._tcp = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())
        self._stream: httpcore2.AsyncNetworkStream | None = None

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = (await self._guard.resolve(host, port))[:MAX_ADDRESSES_TRIED]
        for number, address in enumerate(addresses, 1):
            is_last = number == len(addresses)
            try:
                stream = await self._tcp.connect_tcp(str(address), port, None if is_last else CONNECT_SECONDS)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if is_last:
                    raise
                continue
            self._stream = stream
            self._guard.check_peer(address, str(stream.get_extra_info("server_addr")[0]))
            return _ProgressStream(stream, self._progress)
        raise Unreachable("The host name has no address.")

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None
    ) -> httpcore2.AsyncNetworkStream:
        raise FetchRefused("ssrf", NOT_PUBLIC)

    async def close(self) -> None:
        if self._stream is not None:
            await self._stream.aclose()


class _ProgressStream(httpcore2.AsyncNetworkStream):
    """Reports writes of the request and reads of the response. Those of a TLS handshake do not count."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream, progress: SendProgress) -> None:
        self._stream = stream
        self._progress = progress

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._progress.begin_reading()
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._progress.begin_sending()
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        return _ProgressStream(await self._stream.start_tls(ssl_context, server_hostname, timeout), self._progress)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
