"""The line: what a response has to know of its connection, and ASGI has no word for.

The server puts it into the scope of every request, as `weftwork.line`. Without one a response is sent all the
same; then nothing is known of what its client takes, and the server holds what it does not.
"""

from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from weftwork.adapters.http.cycle import Cycle


class Line(HttpToolsProtocol):
    """One connection as its responses see it."""

    running: Cycle | None = None
    """The request that is being answered."""
    on_lost: Callable[[], object] | None = None
    """Called when the client goes away; set by whoever is being served, for as long as it is."""

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.on_lost is not None:
            self.on_lost()

    @property
    def full(self) -> bool:
        """The client has not taken what it was sent, so far as that may wait here."""
        return self.flow.write_paused

    @property
    def lost(self) -> bool:
        return self.transport.is_closing()

    async def room(self) -> None:
        """Return when it has, or is gone."""
        await self.flow.drain()

    def narrow(self) -> None:
        """Nothing may wait here: it is full as long as one byte was not taken."""
        if not self.lost:
            self.transport.set_write_buffer_limits(high=0)

    def widen(self) -> None:
        """As much may wait as is usual."""
        if not self.lost:
            self.transport.set_write_buffer_limits()

    def abort(self) -> None:
        """Break off, with whatever still waits. A connection whose client does not read cannot be closed."""
        self.transport.abort()
