"""A TCP proxy in front of a server, which can lose answers, stop accepting, or cut its connections."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress


class Proxy:
    """Forwards connections to 127.0.0.1:`target`."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._writers: set[asyncio.StreamWriter] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self.lose_answers = False
        """Cut a connection as soon as the server answers: it has received the request, and the client has no answer."""
        self.lose_after = b""
        """Lose the answers from the request on that has these bytes."""
        self.refuse = False
        """Cut new connections."""

    def pause(self) -> None:
        """Forward nothing more of the connections that are open, and leave them open."""
        self._flowing.clear()

    async def start(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self._server.close()
        self.cut()

    def cut(self) -> None:
        """Reset all connections."""
        self._flowing.set()
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuse:
            writer.transport.abort()
            return
        to_server, server = await asyncio.open_connection("127.0.0.1", self._target)
        self._writers |= {writer, server}
        with suppress(OSError):
            await asyncio.gather(self._forward(reader, server, False), self._forward(to_server, writer, True))
        for each in (writer, server):
            each.transport.abort()

    async def _forward(self, source: asyncio.StreamReader, to: asyncio.StreamWriter, answers: bool) -> None:
        while data := await source.read(65536):
            if answers and self.lose_answers:
                break
            if not answers and self.lose_after and self.lose_after in data:
                self.lose_answers = True
            await self._flowing.wait()
            to.write(data)
            await to.drain()
        to.transport.abort()


@asynccontextmanager
async def proxied(target: int) -> AsyncGenerator[tuple[Proxy, int], None]:
    proxy = Proxy(target)
    port = await proxy.start()
    try:
        yield proxy, port
    finally:
        await proxy.stop()
