"""Clients of the hostile corpus: many connections at once that create runs, send slow bodies, or do not read."""

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import uvloop

from bench.load.runs import request
from bench.plan import BenchError

PIECE: Final = 65_536
ROOM: Final = 4096
"""Bytes that the kernel may hold for a reader that does not read."""
ANSWER_SECONDS: Final = 60.0


def answers_together(port: int, requests: Sequence[bytes]) -> Counter[int]:
    """Send all at once, each on a connection of its own; how often each status came."""

    async def one(data: bytes) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(data)
            return int((await reader.readuntil(b"\r\n"))[9:12])
        finally:
            writer.close()

    async def work() -> list[int]:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await asyncio.gather(*map(one, requests))

    try:
        return Counter(uvloop.run(work()))
    except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
        raise BenchError(f"requests of the hostile corpus were not answered: {error!r}") from None


def slow_bodies(port: int, count: int, size: int, seconds: float) -> Counter[int]:
    """Bodies that stop before their last bytes, held for so long. Counts the statuses that came, 0 for no answer."""
    head = request("POST", "/v1/runs", b"x" * size)[:-size]
    until = time.monotonic() + seconds

    async def one() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(head)
            return await _send_slowly(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            return -1
        finally:
            writer.transport.abort()

    async def _send_slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        answer = asyncio.create_task(reader.readuntil(b"\r\n"))
        try:
            for at in range(0, size - 100, PIECE):
                if answer.done() or time.monotonic() > until:
                    break
                writer.write(b'"' + b"x" * (min(PIECE, size - 100 - at) - 1))
                with suppress(TimeoutError):
                    await asyncio.wait_for(writer.drain(), max(0.0, until - time.monotonic()))
            await asyncio.wait([answer], timeout=max(0.0, until - time.monotonic()))
            return int((await answer)[9:12]) if answer.done() else 0
        finally:
            answer.cancel()

    async def work() -> list[int]:
        return await asyncio.gather(*(one() for _ in range(count)))

    return Counter(uvloop.run(work()))


def unread_requests(port: int, paths: Sequence[str], seconds: float) -> None:
    """Ask for each path on a connection of its own, and read nothing of the answers for so long."""
    opened: list[socket.socket] = []
    try:
        for path in paths:
            connection = socket.socket()
            opened.append(connection)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
            connection.settimeout(ANSWER_SECONDS)
            connection.connect(("127.0.0.1", port))
            connection.sendall(request("GET", path))
        time.sleep(seconds)
    finally:
        for connection in opened:
            connection.close()
