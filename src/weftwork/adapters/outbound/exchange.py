"""One request and its response, on its own connection. The only module that uses httpcore2; loaded when needed.

Connections are not reused. The server may close a kept connection while the next request is being sent, and the host
could then not know whether the request arrived. A kept connection would also outlive the check of its address.

httpcore2 sends the request and reads the head of the response. The body is read by `body.StreamedBody`.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import httpcore2
import msgspec

from weftwork.adapters.outbound.body import INVALID_RESPONSE, LOST, InvalidBody, StreamedBody, body_failure
from weftwork.adapters.outbound.connection import OutboundConnection
from weftwork.adapters.outbound.guard import NOT_PUBLIC, AddressGuard, Unreachable
from weftwork.adapters.outbound.response import RawResponse, SendProgress
from weftwork.ports.outbound import BEFORE_SENDING, FailureReason, FetchFailed, FetchRefused
from weftwork.protocol.net.outbound import CheckedRequest

CONNECT_SECONDS: Final = 3.0
"""Timeout for one of several addresses. The last address may use all the time that remains."""
MAX_ADDRESSES_TRIED: Final = 4

_UPGRADE_ERROR: Final = "_SWITCH_UPGRADE"
"""Part of the parser's error message for a response with status 101, which the host never requests."""
_CUT_ERROR: Final = "peer closed connection"
"""Part of the parser's error message for a connection that ends in the middle of a head."""
_HEAD_ENDS: Final = (b"\n\r\n", b"\n\n")
_HEAD_END_BYTES: Final = 2
"""Bytes of an end that may have arrived without the rest of it."""

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
        async with self._open(outgoing, progress) as (head, network):
            if outgoing.method == "HEAD":
                return head
            with _mapped_failures(progress):
                body, content = network.body(outgoing.method, head, max_bytes), bytearray()
                while piece := await body.read():
                    content += piece
                return msgspec.structs.replace(head, content=bytes(content))

    @asynccontextmanager
    async def stream(
        self, outgoing: CheckedRequest, max_bytes: int, progress: SendProgress
    ) -> AsyncGenerator[tuple[RawResponse, StreamedBody]]:
        """The response without its content, and its content. Raises FetchRefused or FetchFailed."""
        async with self._open(outgoing, progress) as (head, network):
            with _mapped_failures(progress):
                body = network.body(outgoing.method, head, max_bytes)
            yield head, body

    @asynccontextmanager
    async def _open(
        self, outgoing: CheckedRequest, progress: SendProgress
    ) -> "AsyncGenerator[tuple[RawResponse, _PinnedBackend]]":
        """Connect, send the request and read the head of the response; the connection is closed at the end."""
        target = outgoing.target
        url = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        request = httpcore2.Request(outgoing.method, url, headers=self._headers(outgoing), content=outgoing.content)
        network = _PinnedBackend(self._guard, progress)
        connection = httpcore2.AsyncHTTPConnection(url.origin, self._tls, network_backend=network)
        try:
            with _mapped_failures(progress):
                response = await connection.handle_async_request(request)
            yield _read_head(response), network
        finally:
            await connection.aclose()
            # After a handshake that failed, httpcore2 does not own the stream yet and does not close it.
            network.close()

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
        return body_failure(failure, sent)
    return FetchFailed(_failure_message(failure), sent, _failure_reason(failure))


def _failure_reason(failure: BaseException) -> FailureReason:
    if isinstance(failure, Unreachable | httpcore2.ConnectError | httpcore2.ConnectTimeout):
        return "connect"
    is_invalid = isinstance(failure, httpcore2.ProtocolError) and _CUT_ERROR not in str(failure)
    return "invalid" if is_invalid else "lost"


def _read_head(response: httpcore2.Response) -> RawResponse:
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers)
    return RawResponse(response.status, headers)


def _failure_message(failure: BaseException) -> str:
    if isinstance(failure, Unreachable):
        return str(failure)
    if isinstance(failure.__cause__, ssl.SSLError):
        return "The TLS handshake failed: the server has no TLS, or its certificate is not valid for this name."
    if isinstance(failure, httpcore2.ConnectError | httpcore2.ConnectTimeout):
        return "The connection could not be established."
    if isinstance(failure, httpcore2.ProtocolError):
        return INVALID_RESPONSE
    return LOST


class _PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Connects only to addresses that the guard has checked, and checks the peer address after connecting."""

    def __init__(self, guard: AddressGuard, progress: SendProgress) -> None:
        self._guard = guard
        self._progress = progress
        self._connection: OutboundConnection | None = None
        self._stream: _NetworkStream | None = None

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
                async with asyncio.timeout(None if is_last else CONNECT_SECONDS):
                    self._connection = await OutboundConnection.open(str(address), port)
                peer = self._connection.peer_address()
            except OSError as error:
                self.close()
                if is_last:
                    raise httpcore2.ConnectError(str(error)) from error
                continue
            self._guard.check_peer(address, peer)
            self._stream = _NetworkStream(self._connection, self._progress)
            return self._stream
        raise Unreachable("The host name has no address.")

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None
    ) -> httpcore2.AsyncNetworkStream:
        raise FetchRefused("ssrf", NOT_PUBLIC)

    def body(self, method: str, head: RawResponse, max_bytes: int) -> StreamedBody:
        """The body of the response whose head was read. Raises InvalidBody."""
        assert self._stream is not None, "the head was read on a connection"
        return StreamedBody(method, head, self._stream.connection, self._stream.take_rest(), max_bytes)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class _NetworkStream(httpcore2.AsyncNetworkStream):
    """The connection as httpcore2 uses it: for the request, and for the head of the response.

    A read ends at the end of a head, so that httpcore2 gets nothing of the body: its parser is written in Python and
    takes some hundred calls for each piece of a stream. Reports writes of the request and reads of the response. Those
    of a TLS handshake do not count.
    """

    def __init__(self, connection: OutboundConnection, progress: SendProgress) -> None:
        self.connection = connection
        self._progress = progress
        self._rest = b""
        self._last = b""
        """The last bytes of an incomplete head."""

    def take_rest(self) -> bytes:
        """What has arrived after the head."""
        rest, self._rest = self._rest, b""
        return rest

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._progress.begin_reading()
        try:
            data = self.take_rest() or await self.connection.read()
        except OSError as error:
            raise httpcore2.ReadError(str(error)) from error
        known = self._last + data
        ends = [at + len(end) for end in _HEAD_ENDS if (at := known.find(end)) >= 0]
        if ends:
            end = min(ends) - len(self._last)
            self._last = b""
            self._rest = data[end:]
            return data[:end]
        self._last = known[-_HEAD_END_BYTES:]
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not self._progress.sent and (check := BEFORE_SENDING.get()) is not None:
            await check()
        self._progress.begin_sending()
        try:
            await self.connection.write(buffer)
        except OSError as error:
            raise httpcore2.WriteError(str(error)) from error

    async def aclose(self) -> None:
        self.connection.close()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        try:
            await self.connection.start_tls(ssl_context, server_hostname)
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        return self

    def get_extra_info(self, info: str) -> Any:
        return self.connection.tls_object() if info == "ssl_object" else None
