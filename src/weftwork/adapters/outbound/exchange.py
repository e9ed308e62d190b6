"""One request and its answer, on a connection of its own. The only module that knows httpcore2; loaded when needed.

No connection is used twice. A kept one may be closed by the other side just when the next request is on its way, and
the host could not tell whether that request arrived; it would also outlive the check of the address that it leads to.

The body of an answer is decoded as it arrives, and reading stops at the cap.
"""

import ssl
import zlib
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from typing import Any, Final, cast

import httpcore2
import msgspec

from weftwork.adapters.outbound.guard import NOT_PUBLIC, AddressGuard, Unreachable
from weftwork.adapters.outbound.response import RawResponse, SendProgress
from weftwork.ports.outbound import FetchFailed, FetchRefused
from weftwork.protocol.net.outbound import CheckedRequest

CONNECT_SECONDS: Final = 3.0
"""For one of several addresses; the last one has all the time that is left."""
MAX_ADDRESSES_TRIED: Final = 4

_DECODE_STEP_BYTES: Final = 262_144
"""Bytes decoded in one go, so that a small piece cannot become a large one."""
_GZIP_WBITS: Final = 16 + zlib.MAX_WBITS
_UPGRADE_ERROR: Final = "_SWITCH_UPGRADE"
"""So the parser calls an answer with the status 101, which nobody asked for."""


class InvalidBody(Exception):
    """A body that is too large or cannot be decoded; the message is ours."""


_FAILURES: Final = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
    OSError,
    Unreachable,
    InvalidBody,
)


class HttpExchange:
    """Sends requests; the certificates to trust are those of the system, read once."""

    def __init__(self, guard: AddressGuard, agent: str) -> None:
        self._guard = guard
        self._agent = agent
        self._tls = ssl.create_default_context()

    async def send(self, outgoing: CheckedRequest, most: int, progress: SendProgress) -> RawResponse:
        """Raises FetchRefused or FetchFailed."""
        target = outgoing.target
        place = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        request = httpcore2.Request(outgoing.method, place, headers=self._headers(outgoing), content=outgoing.content)
        network = _PinnedBackend(self._guard, progress)
        connection = httpcore2.AsyncHTTPConnection(place.origin, self._tls, network_backend=network)
        try:
            response = await connection.handle_async_request(request)
            return await _read_response(response, outgoing.method, most)
        except httpcore2.RemoteProtocolError as failure:
            if _UPGRADE_ERROR in str(failure):
                raise FetchRefused("upgrade", "The other side wanted to upgrade the connection.") from None
            raise FetchFailed(_failure_message(failure), progress.sent) from None
        except _FAILURES as failure:
            raise FetchFailed(_failure_message(failure), progress.sent) from None
        finally:
            await connection.aclose()
            # A handshake that was broken off belongs to no connection yet.
            await network.close()

    def _headers(self, outgoing: CheckedRequest) -> list[tuple[str, str]]:
        given = {name.lower() for name, _ in outgoing.headers}
        common = [("User-Agent", self._agent), ("Accept", "*/*")]
        found = [("Host", outgoing.target.authority), *(each for each in common if each[0].lower() not in given)]
        found += [*outgoing.headers, ("Accept-Encoding", "gzip"), ("Connection", "close")]
        if outgoing.content or outgoing.method in ("POST", "PUT", "PATCH"):
            found.append(("Content-Length", str(len(outgoing.content))))
        return found


async def _read_response(response: httpcore2.Response, method: str, most: int) -> RawResponse:
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers)
    answer = RawResponse(response.status, headers)
    if method == "HEAD":
        return answer
    encoding = answer.header("content-encoding") or ""
    async with aclosing(response.aiter_stream()) as chunks:
        return msgspec.structs.replace(answer, content=await read_body(chunks, encoding, most))


def _failure_message(failure: BaseException) -> str:
    if isinstance(failure, Unreachable | InvalidBody):
        return str(failure)
    if isinstance(failure.__cause__, ssl.SSLError):
        return "The other side speaks no TLS, or its certificate is not good for the host."
    if isinstance(failure, httpcore2.ConnectError | httpcore2.ConnectTimeout):
        return "No connection could be made."
    if isinstance(failure, httpcore2.ProtocolError):
        return "The other side does not speak HTTP, or closed the connection."
    return "The connection broke."


async def read_body(chunks: AsyncIterator[bytes], encoding: str, most: int) -> bytes:
    """The decoded body; the cap holds for what is kept, so a bomb stops at it. Raises InvalidBody."""
    kind = encoding.strip().lower()
    if kind not in ("", "identity", "gzip", "x-gzip"):
        raise InvalidBody("The answer has an encoding that is not read here.")
    unpack = _GzipDecoder() if kind.endswith("gzip") else None
    kept = bytearray()
    async for chunk in chunks:
        if unpack is None:
            kept += chunk
        else:
            unpack.decompress_into(kept, chunk, most)
        if len(kept) > most:
            raise InvalidBody(f"The answer is larger than {most} bytes.")
    if unpack is not None and not unpack.is_complete:
        raise InvalidBody("The answer is not whole.")
    return bytes(kept)


class _GzipDecoder:
    """One or more members, one after the other."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP_WBITS)
        self._started = False

    @property
    def is_complete(self) -> bool:
        return not self._started or self._member.eof

    def decompress_into(self, kept: bytearray, data: bytes, most: int) -> None:
        try:
            while data and len(kept) <= most:
                if self._member.eof:
                    self._member = zlib.decompressobj(_GZIP_WBITS)
                self._started = True
                kept += self._member.decompress(data, _DECODE_STEP_BYTES)
                data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        except zlib.error:
            raise InvalidBody("The answer is not what its encoding says.") from None


class _PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to the very address that was judged, and looks again at what it is connected to."""

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
        tried = (await self._guard.resolve(host, port))[:MAX_ADDRESSES_TRIED]
        for number, address in enumerate(tried, 1):
            last = number == len(tried)
            try:
                stream = await self._tcp.connect_tcp(str(address), port, None if last else CONNECT_SECONDS)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if last:
                    raise
                continue
            self._stream = stream
            self._guard.check_peer(address, str(stream.get_extra_info("server_addr")[0]))
            return _ProgressStream(stream, self._progress)
        raise Unreachable("The name of the host has no address.")

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None
    ) -> httpcore2.AsyncNetworkStream:
        raise FetchRefused("ssrf", NOT_PUBLIC)

    async def close(self) -> None:
        if self._stream is not None:
            await self._stream.aclose()


class _ProgressStream(httpcore2.AsyncNetworkStream):
    """Notes when the first byte of the request is handed over; a TLS handshake is none."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream, progress: SendProgress) -> None:
        self._stream = stream
        self._progress = progress

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._progress.sent = True
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        return _ProgressStream(await self._stream.start_tls(ssl_context, server_hostname, timeout), self._progress)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
