"""One request and its answer, on a connection of its own. The only module that knows httpcore2; loaded when needed.

No connection is used twice. A kept one may be closed by the other side just when the next request is on its way, and
nobody could tell whether that one arrived; and it would outlive the judgement over the address that it leads to.

The body of an answer, read as it comes and never beyond its cap.
"""

import ssl
import zlib
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from typing import Any, Final, cast

import httpcore2
import msgspec

from weftwork.adapters.outbound.guard import NOT_PUBLIC, Guard, Unreachable
from weftwork.adapters.outbound.response import Answer, Progress
from weftwork.ports.outbound import FetchFailed, FetchRefused
from weftwork.protocol.net.outbound import CheckedRequest

_STEP: Final = 262_144
"""Bytes decoded in one go, so that a small piece cannot become a large one."""
_GZIP: Final = 16 + zlib.MAX_WBITS


class BadContent(Exception):
    """A body that is too large or cannot be decoded; the message is ours."""


async def read_content(chunks: AsyncIterator[bytes], encoding: str, most: int) -> bytes:
    """The decoded body; the cap holds for what is kept, so a bomb stops at it. Raises BadContent."""
    kind = encoding.strip().lower()
    if kind not in ("", "identity", "gzip", "x-gzip"):
        raise BadContent("The answer has an encoding that is not read here.")
    unpack = _Gzip() if kind.endswith("gzip") else None
    kept = bytearray()
    async for chunk in chunks:
        if unpack is None:
            kept += chunk
        else:
            unpack.into(kept, chunk, most)
        if len(kept) > most:
            raise BadContent(f"The answer is larger than {most} bytes.")
    if unpack is not None and not unpack.whole:
        raise BadContent("The answer is not whole.")
    return bytes(kept)


class _Gzip:
    """One or more members, one after the other."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._begun = False

    @property
    def whole(self) -> bool:
        return not self._begun or self._member.eof

    def into(self, kept: bytearray, data: bytes, most: int) -> None:
        try:
            while data and len(kept) <= most:
                if self._member.eof:
                    self._member = zlib.decompressobj(_GZIP)
                self._begun = True
                kept += self._member.decompress(data, _STEP)
                data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        except zlib.error:
            raise BadContent("The answer is not what its encoding says.") from None


CONNECT_SECONDS: Final = 3.0
"""For one of several addresses; the last one has all the time that is left."""
MAX_TRIED: Final = 4
_UPGRADED: Final = "_SWITCH_UPGRADE"
"""So the parser calls an answer with the status 101, which nobody asked for."""
_FAILURES: Final = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
    OSError,
    Unreachable,
    BadContent,
)


class Exchange:
    """Sends requests; the certificates to trust are those of the system, read once."""

    def __init__(self, guard: Guard, agent: str) -> None:
        self._guard = guard
        self._agent = agent
        self._tls = ssl.create_default_context()

    async def send(self, outgoing: CheckedRequest, most: int, progress: Progress) -> Answer:
        """Raises FetchRefused or FetchFailed."""
        target = outgoing.target
        place = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        request = httpcore2.Request(outgoing.method, place, headers=self._headers(outgoing), content=outgoing.content)
        network = _Pinning(self._guard, progress)
        connection = httpcore2.AsyncHTTPConnection(place.origin, self._tls, network_backend=network)
        try:
            response = await connection.handle_async_request(request)
            return await _answer(response, outgoing.method, most)
        except httpcore2.RemoteProtocolError as failure:
            if _UPGRADED in str(failure):
                raise FetchRefused("upgrade", "The other side wanted to upgrade the connection.") from None
            raise FetchFailed(_words(failure), progress.sent) from None
        except _FAILURES as failure:
            raise FetchFailed(_words(failure), progress.sent) from None
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


async def _answer(response: httpcore2.Response, method: str, most: int) -> Answer:
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers)
    answer = Answer(response.status, headers)
    if method == "HEAD":
        return answer
    encoding = answer.header("content-encoding") or ""
    async with aclosing(response.aiter_stream()) as chunks:
        return msgspec.structs.replace(answer, content=await read_content(chunks, encoding, most))


def _words(failure: BaseException) -> str:
    if isinstance(failure, Unreachable | BadContent):
        return str(failure)
    if isinstance(failure.__cause__, ssl.SSLError):
        return "The other side speaks no TLS, or its certificate is not good for the host."
    if isinstance(failure, httpcore2.ConnectError | httpcore2.ConnectTimeout):
        return "No connection could be made."
    if isinstance(failure, httpcore2.ProtocolError):
        return "The other side does not speak HTTP, or closed the connection."
    return "The connection broke."


class _Pinning(httpcore2.AsyncNetworkBackend):
    """Connects to the very address that was judged, and looks again at what it is connected to."""

    def __init__(self, guard: Guard, progress: Progress) -> None:
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
        tried = (await self._guard.addresses(host, port))[:MAX_TRIED]
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
            return _Watched(stream, self._progress)
        raise Unreachable("The name of the host has no address.")

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None
    ) -> httpcore2.AsyncNetworkStream:
        raise FetchRefused("ssrf", NOT_PUBLIC)

    async def close(self) -> None:
        if self._stream is not None:
            await self._stream.aclose()


class _Watched(httpcore2.AsyncNetworkStream):
    """Notes when the first byte of the request is handed over; a TLS handshake is none."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream, progress: Progress) -> None:
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
        return _Watched(await self._stream.start_tls(ssl_context, server_hostname, timeout), self._progress)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
