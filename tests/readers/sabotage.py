"""Hosts with a guard taken away that keeps readers cheap."""

from typing import Any

from weftwork.adapters.blobs.local import LocalSource
from weftwork.adapters.http.message import Request
from weftwork.adapters.http.response_writer import CHUNK_BYTES, ResponseAborted, ResponseWriter
from weftwork.adapters.http.server.connection import Connection
from weftwork.adapters.http.shared_bodies import SharedBodies, SharedBody
from weftwork.adapters.http.sse import SseStream
from weftwork.engine.api.keyring import Keyring
from weftwork.protocol.json.pieces import Placeholder


def buffer_frames() -> None:
    async def offer(out: Any, data: bytes, at: int = 0) -> int:
        out._at_boundary = False
        for start in range(at, len(data), CHUNK_BYTES):
            await out._send_message(
                {"type": "http.response.body", "body": data[start : start + CHUNK_BYTES], "more_body": True}
            )
        out._at_boundary = True
        return len(data)

    ResponseWriter.write_available = offer  # type: ignore[method-assign]


def widen_write_buffer() -> None:
    def widen(line: Any) -> None:
        line.transport.set_write_buffer_limits(high=2**30)

    Connection.disable_buffering = widen  # type: ignore[method-assign]


def hold_memory_per_reader() -> None:
    honest = SseStream.run

    async def run(pump: Any) -> None:
        held = bytearray(b"x" * 65_536)
        await honest(pump)
        held.clear()

    SseStream.run = run  # type: ignore[method-assign]


def break_streams() -> None:
    async def end(out: Any) -> None:
        raise ResponseAborted

    ResponseWriter.end = end  # type: ignore[method-assign]


def skip_key_recheck() -> None:
    Keyring.check = lambda keyring, principal: None  # type: ignore[method-assign]


def buffer_uploads() -> None:
    honest = Request.body_chunks

    async def pieces(request: Any) -> Any:
        yield b"".join([piece async for piece in honest(request)])

    Request.body_chunks = pieces  # type: ignore[method-assign]


def buffer_downloads() -> None:
    honest = LocalSource.read

    async def read(source: Any, start: int, length: int) -> Any:
        yield b"".join([piece async for piece in honest(source, start, length)])

    LocalSource.read = read  # type: ignore[method-assign]


def copy_documents() -> None:
    honest = SharedBodies.add

    def add(bodies: SharedBodies, key: object, body: SharedBody) -> SharedBody:
        body.pieces = [piece if isinstance(piece, Placeholder) else bytes(bytearray(piece)) for piece in body.pieces]
        return honest(bodies, object(), body)

    SharedBodies.add = add  # type: ignore[method-assign,assignment]
    SharedBodies.may_wait = lambda bodies: True  # type: ignore[method-assign]
