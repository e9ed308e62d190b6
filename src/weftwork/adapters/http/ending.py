"""The end of a connection: what is said last, and how long it is waited for that it is read.

A client that is refused may be busy sending. Closed at once, its connection is reset, and it never reads why. So
the answer is written, the client is told that nothing follows, and for a moment what it still sends is dropped.
"""

import asyncio
import contextlib
import logging
import math
from typing import Any, Final

import uvicorn
from uvicorn.server import ServerState

from weftwork.adapters.http.line import Line
from weftwork.adapters.http.refusal import refusal
from weftwork.protocol.errors import ClientFault

log = logging.getLogger("weftwork.http")

LINGER_SECONDS: Final = 1.0
"""How long a refused client is still listened to: it may be busy sending, and would not read the answer."""
FLUSH_SECONDS: Final = 30.0
"""How long the last bytes of an answer may take to leave."""

BETWEEN, HEAD, BODY, ENDING = range(4)
"""Where a connection stands in what it receives: between requests, in a head, in a body, or nothing more is read."""


class Ending(Line):
    """One connection as far as its end. `deadline` is when the watchdog looks at it."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.deadline = math.inf
        self.stage = BETWEEN
        self._flush_until = 0.0
        self.last: bytes | None = None
        """The answer that ends the connection, while others are due before it."""
        self.template: dict[str, Any] = {}
        """The scope of every request on it."""

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        # uvicorn tells only the newest request; the one that is being answered may be an older one.
        for cycle in (self.running, *(cycle for cycle, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        self.pipeline.clear()
        self.deadline = math.inf
        self._let_go()

    def _let_go(self) -> None:
        """Hold on to itself no longer: what is left of a connection goes at once, not when garbage is looked for."""
        scopes: list[Any] = [self.template, self.scope]
        scopes += [cycle.scope for cycle in (self.cycle, self.running) if cycle]
        for scope in scopes:
            if scope:
                scope.pop("weftwork.line", None)

    def shutdown(self) -> None:
        if self.stage == ENDING:
            self.transport.close()
        else:
            super().shutdown()

    def refuse(self, fault: ClientFault) -> None:
        """End the connection with this answer, after those that are due before it."""
        log.debug("request refused before it was one", extra={"reason": fault.message})
        answer = refusal(fault, self.server_state.default_headers)
        torn = self.cycle if self.stage == BODY else None
        if torn is not None and self.pipeline and self.pipeline[0][0] is torn:
            self.pipeline.popleft()
        elif torn is not None and not torn.response_complete:
            # The one that is being answered will never be whole.
            if torn.response_started:
                self.close()
                return
            torn.disconnected = True
            torn.message_event.set()
            self.say_last(answer)
            return
        elif torn is not None:
            # It has its answer already; nobody waits for another.
            self.close()
            return
        running = self.running
        if running is not None and not running.response_complete:
            self.last = answer
            self.deadline = math.inf
        else:
            self.say_last(answer)

    def say_last(self, answer: bytes) -> None:
        """Write, say that nothing follows, and listen no more than for the client's own end."""
        self.stage = ENDING
        self.last = None
        now = self.loop.time()
        self.deadline = now + LINGER_SECONDS
        self._flush_until = now + FLUSH_SECONDS
        self.transport.write(answer)
        # The client may be gone by now.
        with contextlib.suppress(OSError, RuntimeError):
            self.transport.write_eof()

    def close(self) -> None:
        self.stage = ENDING
        self.deadline = self.loop.time() + FLUSH_SECONDS
        self.transport.close()

    def give_up(self, now: float) -> None:
        """Break off, unless there are answers that the client is still reading."""
        if now < self._flush_until and self.transport.get_write_buffer_size():
            self.deadline = now + LINGER_SECONDS
        else:
            self.deadline = math.inf
            self.transport.abort()
