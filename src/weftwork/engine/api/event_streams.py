"""Events of runs for callers: a reader that follows a run, and pages of its events."""

from typing import Final

from weftwork.engine.api.keyring import Principal, require_run
from weftwork.engine.api.runs import rate_limited
from weftwork.engine.host.executor import Executor
from weftwork.engine.runtime import Runtime
from weftwork.engine.streams.feeds import Reader
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import TERMINAL_STATUSES
from weftwork.protocol.run.projection import Projection

PAGE_BYTES: Final = 4 * 2**20
"""A page ends with the event that reaches this; its reader goes on from there."""


class EventStreams:
    """Raises ClientFault or StoreUnavailable."""

    def __init__(self, runtime: Runtime, executor: Executor) -> None:
        self._runtime = runtime
        self._executor = executor

    async def join(
        self, principal: Principal, run_id: str, after: int, waits: bool = True
    ) -> tuple[Reader, Projection]:
        """A reader standing after that sequence, or after the last one if the run has not come so far; and how it is.

        Pair with `leave`. A reader that waits for events is refused if the host has as many as it may.
        """
        if waits:
            self._check_capacity()
        run = principal.run(run_id)
        reader = self._runtime.feeds.join(run, after)
        try:
            projection = require_run(await self._executor.projection(run))
        except BaseException:
            self._runtime.feeds.leave(run)
            raise
        if after >= projection.last_sequence:
            reader.sequence = projection.last_sequence
            reader.ended = projection.status in TERMINAL_STATUSES
        return reader, projection

    def leave(self, principal: Principal, run_id: str) -> None:
        self._runtime.feeds.leave(principal.run(run_id))

    async def read_page(
        self, principal: Principal, run_id: str, after: int, limit: int, timeout: float = 0
    ) -> tuple[list[Event], Projection]:
        """The next events, up to a limit and to PAGE_BYTES; and how the run stood before they were read.

        With a timeout, waits so many seconds while a live run has none. For a cursor ahead of the run these are the
        events behind its end, and not yet behind the cursor.
        """
        reader, projection = await self.join(principal, run_id, after, waits=timeout > 0)
        try:
            events = [] if reader.ended else await reader.next(timeout, limit, PAGE_BYTES)
            size = sum([event.size for event in events])
            while events and not reader.ended and len(events) < limit and size < PAGE_BYTES:
                more = await reader.next(0, limit - len(events), PAGE_BYTES - size)
                if not more:
                    break
                events += more
                size += sum([event.size for event in more])
        finally:
            self.leave(principal, run_id)
        return events, projection

    def _check_capacity(self) -> None:
        """lim-08 (OpenWOP stream-modes): refuse one waiting reader too many, before anything is opened for it."""
        if self._runtime.feeds.readers >= self._runtime.limits.max_streams:
            raise rate_limited("The host has as many open streams as it may.", "global")
