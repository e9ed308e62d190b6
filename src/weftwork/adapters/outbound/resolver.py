"""Resolves host names with getaddrinfo of the system: hosts file, name servers, and numeric addresses."""

import asyncio
import socket
import threading
from typing import Any, Final, Protocol

MAX_CONCURRENT_LOOKUPS: Final = 16
"""Concurrent lookups, in their own threads: a slow name server could block all threads of the loop's executor."""


class Resolver(Protocol):
    """Returns the addresses of a name, as text. Raises OSError or UnicodeError."""

    async def resolve(self, host: str, port: int) -> list[str]: ...

    def close(self) -> None: ...


class SystemResolver:
    """Calls getaddrinfo in daemon threads. A lookup may hang for a minute, and the process must not wait for it."""

    def __init__(self) -> None:
        self._semaphore = asyncio.Semaphore(MAX_CONCURRENT_LOOKUPS)

    async def resolve(self, host: str, port: int) -> list[str]:
        await self._semaphore.acquire()
        loop = asyncio.get_running_loop()
        addresses: asyncio.Future[list[str]] = loop.create_future()

        def work() -> None:
            # The semaphore is released when the thread ends, even if the caller was cancelled before.
            result: list[str] | OSError | UnicodeError
            try:
                result = _look_up(host, port)
            except (OSError, UnicodeError) as error:
                result = error
            try:
                loop.call_soon_threadsafe(self._settle, addresses, result)
            except RuntimeError:
                # The event loop is closed.
                return

        threading.Thread(target=work, name="weftwork-resolver", daemon=True).start()
        return await addresses

    def _settle(self, addresses: "asyncio.Future[list[str]]", result: Any) -> None:
        self._semaphore.release()
        if addresses.done():
            return
        if isinstance(result, Exception):
            addresses.set_exception(result)
        else:
            addresses.set_result(result)

    def close(self) -> None: ...


def _look_up(host: str, port: int) -> list[str]:
    rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(address[0]) for _, _, _, _, address in rows]
