"""Hints between processes over LISTEN and NOTIFY.

A hint is a short text about something that this process has written, such as `run-1:17` or `keys`. It is sent after the
commit, by a session of its own: a NOTIFY within the transactions of the writer would make them commit one after the
other. Hints that come together are sent together, and equal ones once. Hints may be lost with a session; a receiver
therefore also polls, and gets a special hint when others may have been lost.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.connection import PostgresConnection, connect, disconnect
from weftwork.adapters.postgres.database.pool import MAX_DELAY, MIN_DELAY
from weftwork.ports.hints import MISSED

COALESCE_SECONDS: Final = 0.005
FLUSH_SECONDS: Final = 2.0
MAX_MESSAGE_BYTES: Final = 7_900
"""A notification of PostgreSQL has less than 8,000 bytes."""
MAX_WAITING: Final = 10_000
"""Hints that wait for a session. If there are more, they are replaced by MISSED."""
SEPARATOR: Final = "\n"

_NOTIFY = "SELECT pg_notify($1, message) FROM unnest($2::text[]) AS messages (message)"

logger = logging.getLogger(__name__)


class PostgresHints:
    """Sends hints to all processes that listen on the same schema, this one included."""

    def __init__(self, address: StoreAddress) -> None:
        self._address = address
        self._waiting: dict[str, None] = {}
        self._receivers: list[Callable[[str], None]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._has_work = asyncio.Event()
        self._listening = asyncio.Event()
        self._all_sent = asyncio.Event()
        self._all_sent.set()

    @property
    def is_listening(self) -> bool:
        return self._listening.is_set()

    def listen(self, receiver: Callable[[str], None]) -> None:
        """Call `receiver` with each hint, and with MISSED whenever hints may have been lost. It must not block."""
        self._receivers.append(receiver)

    def send(self, *hints: str) -> None:
        """Send hints soon. Never fails: what cannot be sent is found by polling."""
        for hint in hints:
            self._waiting[hint] = None
        if len(self._waiting) > MAX_WAITING:
            self._waiting = {MISSED: None}
        self._all_sent.clear()
        self._has_work.set()

    async def open(self) -> None:
        """Begin to send and to listen, also while the server does not accept connections."""
        self._has_work = asyncio.Event()
        self._listening = asyncio.Event()
        self._tasks = [asyncio.create_task(self._keep(self._send)), asyncio.create_task(self._keep(self._receive))]

    async def flush(self) -> None:
        """Wait until the hints so far were sent, at most FLUSH_SECONDS."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._all_sent.wait()

    async def wait_until_listening(self) -> None:
        await self._listening.wait()

    async def close(self) -> None:
        """Stop. Hints that wait are dropped. Can be called twice."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self._listening.clear()

    async def _keep(self, work: Callable[[PostgresConnection], Any]) -> None:
        """Do the work with a session, and again with a new one whenever it is lost."""
        delay = MIN_DELAY
        while True:
            connection: PostgresConnection | None = None
            try:
                connection = await connect(self._address, application_name="weftwork hints")
                delay = MIN_DELAY
                await work(connection)
            except Exception as error:
                logger.warning("the session for hints was lost: %s", self._address.mask(str(error)))
            finally:
                if connection is not None:
                    await disconnect(connection)
            await asyncio.sleep(delay)
            delay = min(delay * 2, MAX_DELAY)

    async def _send(self, connection: PostgresConnection) -> None:
        while True:
            await self._has_work.wait()
            await asyncio.sleep(COALESCE_SECONDS)
            self._has_work.clear()
            waiting, self._waiting = self._waiting, {}
            try:
                await connection.execute(_NOTIFY, self._address.channel, pack(waiting))
            except BaseException:
                self.send(*waiting)
                raise
            if not self._waiting:
                self._all_sent.set()

    async def _receive(self, connection: PostgresConnection) -> None:
        ended = asyncio.get_running_loop().create_future()

        def end(*_: Any) -> None:
            if not ended.done():
                ended.set_result(None)

        connection.add_termination_listener(end)
        await connection.add_listener(self._address.channel, self._deliver)
        self._listening.set()
        self._tell(MISSED)  # what was sent before this session listened
        await ended
        self._listening.clear()
        raise ConnectionError("the server has ended the session")

    def _deliver(self, _connection: Any, _process: int, _channel: str, message: str) -> None:
        for hint in message.split(SEPARATOR):
            self._tell(hint)

    def _tell(self, hint: str) -> None:
        for receiver in self._receivers:
            try:
                receiver(hint)
            except Exception:
                logger.exception("a receiver of hints failed")


def pack(hints: dict[str, None]) -> list[str]:
    """The hints in as few messages as possible. One that is too long for a message becomes MISSED."""
    messages: list[str] = []
    size = MAX_MESSAGE_BYTES + 1
    for hint in hints:
        length = len(hint.encode()) + 1
        if length > MAX_MESSAGE_BYTES:
            hint, length = MISSED, 1
        if size + length > MAX_MESSAGE_BYTES:
            messages.append(hint)
            size = length
        else:
            messages[-1] += SEPARATOR + hint
            size += length
    return messages
