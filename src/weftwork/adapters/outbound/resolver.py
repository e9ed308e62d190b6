"""Names to addresses, by the system: its hosts file, its name servers, and its reading of numbers."""

import asyncio
import socket
import threading
from typing import Any, Final, Protocol

MAX_CONCURRENT_LOOKUPS: Final = 16
"""Names looked up at once. The event loop's own threads are fewer, and one slow name server would take them all."""


class Resolver(Protocol):
    """Gives the addresses of a name, as text. Raises OSError."""

    async def resolve(self, host: str, port: int) -> list[str]: ...

    def close(self) -> None: ...


class SystemResolver:
    """Asks the system, in threads that the end of the process does not wait for: a lookup may hang for a minute."""

    def __init__(self) -> None:
        self._semaphore = asyncio.Semaphore(MAX_CONCURRENT_LOOKUPS)

    async def resolve(self, host: str, port: int) -> list[str]:
        await self._semaphore.acquire()
        loop = asyncio.get_running_loop()
        found: asyncio.Future[list[str]] = loop.create_future()

        def work() -> None:
            """A place is free again when the thread is, not when nobody waits for it any more."""
            result: list[str] | OSError | UnicodeError
            try:
                result = _look_up(host, port)
            except (OSError, UnicodeError) as error:
                result = error
            try:
                loop.call_soon_threadsafe(self._settle, found, result)
            except RuntimeError:
                # The loop has ended, and whoever waited with it.
                return

        threading.Thread(target=work, name="weftwork-resolver", daemon=True).start()
        return await found

    def _settle(self, found: "asyncio.Future[list[str]]", result: Any) -> None:
        self._semaphore.release()
        if found.done():
            return
        if isinstance(result, Exception):
            found.set_exception(result)
        else:
            found.set_result(result)

    def close(self) -> None: ...


def _look_up(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(place[0]) for _, _, _, _, place in found]
