"""A real HTTP server on loopback that answers as a model server.

Use it as an asynchronous context manager, or as a plain one, which runs it in a thread. It writes HTTP itself, because
no HTTP library can break the protocol on purpose.
"""

import asyncio
import itertools
import json
import threading
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import Final, Self

from weftwork.testing.model_server.replies import (
    CREATED,
    Answer,
    AnswerFunction,
    ModelReply,
    error_response,
    reply_response,
)
from weftwork.testing.model_server.response import ServedRequest, WireResponse

START_SECONDS: Final = 30.0


class ModelServer:
    """Answers requests for chat completions with `answers`, one after the other, and then with `default`.

    An answer is a text, a ModelReply, or a function of the request that returns one of them. With a `key`, requests
    without it are refused with 401.
    """

    def __init__(
        self,
        *answers: Answer | AnswerFunction,
        default: Answer | AnswerFunction = "Hello from the model server.",
        models: tuple[str, ...] = ("tiny",),
        key: str | None = None,
    ) -> None:
        self.default = default
        self.requests: list[ServedRequest] = []
        """All complete requests, in the order in which they arrived."""
        self.open_connections = 0
        self._answers = deque(answers)
        self._models = models
        self._key = key
        self._port = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        """The URL for the setting `base_url` of a provider."""
        return f"http://127.0.0.1:{self._port}/api"

    @property
    def calls(self) -> list[ServedRequest]:
        """The requests for chat completions."""
        return [request for request in self.requests if request.path.endswith("/chat/completions")]

    def answer_with(self, *answers: Answer | AnswerFunction) -> None:
        """Add answers for the next calls."""
        self._answers.extend(answers)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close all connections. The server can be started again, and then has the same port."""
        assert self._server is not None, "the server is not running"
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._server = None

    def __enter__(self) -> Self:
        started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve_in_thread(started)), daemon=True)
        self._thread.start()
        if not started.wait(START_SECONDS):
            raise TimeoutError("the model server did not start")
        return self

    def __exit__(self, *error: object) -> None:
        assert self._thread is not None, "the server is not running"
        if self._loop is not None and self._stopped is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(START_SECONDS)

    async def _serve_in_thread(self, started: threading.Event) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        async with self:
            started.set()
            await self._stopped.wait()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.open_connections += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                while (request := await _read_request(reader)) is not None:
                    self.requests.append(request)
                    can_continue = await _write(self._respond(request), reader, writer)
                    if not can_continue or request.headers.get("connection", "").lower() == "close":
                        break
        except asyncio.CancelledError:
            # The server stops. The task must not be cancelled for asyncio, which would log that as an error.
            pass
        finally:
            self.open_connections -= 1
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    def _respond(self, request: ServedRequest) -> WireResponse:
        if self._key is not None and request.key != self._key:
            return error_response(401, f"Incorrect API key provided: {request.key}.", "invalid_api_key")
        path = request.path.partition("?")[0]
        if request.method == "GET" and path.endswith("/models"):
            data = [{"id": name, "object": "model", "created": CREATED, "owned_by": "tests"} for name in self._models]
            content = json.dumps({"object": "list", "data": data}).encode()
            return WireResponse(200, (("Content-Type", "application/json"),), (content,))
        if request.method != "POST" or not path.endswith("/chat/completions"):
            return error_response(404, f"Unknown request URL: {request.method} {path}.", kind="invalid_request_error")
        if not isinstance(request.document, dict):
            return error_response(400, "The body is not a JSON object.", kind="invalid_request_error")
        answer = self._answers.popleft() if self._answers else self.default
        if not isinstance(answer, str | ModelReply):
            answer = answer(request)
        reply = ModelReply(answer) if isinstance(answer, str) else answer
        response = reply_response(reply, request)
        for fault in reply.faults:
            response = fault(response, request)
        return response


async def _read_request(reader: asyncio.StreamReader) -> ServedRequest | None:
    """The next request of a connection; None if the client has closed it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return ServedRequest(method, path, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


async def _write(response: WireResponse, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Write a response; returns whether the connection can be used for another request. Raises ConnectionError if the
    client closes the connection."""
    if not response.answers:
        await _wait_for_close(reader, None)
    pieces, length = response.pieces, None
    if response.framing == "length":
        pieces = tuple(pieces)
        length = sum(map(len, pieces))
    if response.framing != "raw":
        writer.write(_head(response, length))
    await writer.drain()
    sent, started = 0, monotonic()
    if response.first_byte_delay:
        await _wait_for_close(reader, response.first_byte_delay)
    remaining = iter(pieces)
    for count in itertools.count():
        if response.interval and count:
            await _wait_for_close(reader, started + count * response.interval - monotonic())
        # Not before it is due, because a reply may make its pieces as they are sent.
        if (piece := next(remaining, None)) is None:
            break
        for limit, hangs in ((response.hang_at, True), (response.cut_at, False)):
            if limit is not None and sent + len(piece) >= limit:
                _write_piece(writer, piece[: limit - sent], response)
                await writer.drain()
                if hangs:
                    await _wait_for_close(reader, None)
                return False
        _write_piece(writer, piece, response)
        sent += len(piece)
        await writer.drain()
    if response.framing == "chunked":
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    return response.framing in ("chunked", "length") and response.declared_length is None


def _head(response: WireResponse, length: int | None) -> bytes:
    lines = [f"HTTP/1.1 {response.status} Answer", *(f"{name}: {value}" for name, value in response.headers)]
    if response.framing == "chunked":
        lines.append("Transfer-Encoding: chunked")
    elif length is not None:
        lines.append(f"Content-Length: {length if response.declared_length is None else response.declared_length}")
    else:
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _write_piece(writer: asyncio.StreamWriter, piece: bytes, response: WireResponse) -> None:
    if response.framing != "chunked":
        writer.write(piece)
    elif piece:
        writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))


async def _wait_for_close(reader: asyncio.StreamReader, seconds: float | None) -> None:
    """Wait for `seconds`, or without an end. Raises ConnectionResetError if the client closes the connection."""
    if seconds is not None and seconds <= 0:
        return
    try:
        async with asyncio.timeout(seconds):
            # A client sends nothing more before it has the response, so this reads the end of the connection.
            await reader.read(1)
    except TimeoutError:
        return
    raise ConnectionResetError("the client closed the connection")
