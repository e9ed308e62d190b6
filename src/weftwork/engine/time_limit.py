"""The time limit of one entry of a node."""

import asyncio
from collections.abc import Awaitable

from weftwork.ports.clock import Clock
from weftwork.ports.nodes import Failed, Outcome


class TimedOut(Failed, frozen=True):
    """The node had its time. What it does may still happen."""


async def within(clock: Clock, work: Awaitable[Outcome], started_at: int, limit: int) -> Outcome:
    """node-13 (readings, Time limits): the outcome, or a failure once the attempt has had its time.

    A node that does not heed its end is left behind.
    """
    task = asyncio.ensure_future(work)
    timer = asyncio.ensure_future(clock.sleep_until(started_at + limit))
    task.add_done_callback(_heard)
    try:
        await asyncio.wait((task, timer), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        return TimedOut("node_timeout", f"The node did not end within {limit} ms.")
    except asyncio.CancelledError:
        # The run is to end. The node may still clean up, and what it did in the end counts.
        task.cancel()
        await asyncio.wait((task,))
        return task.result()
    finally:
        task.cancel()
        timer.cancel()
        # What it raised knows this frame, which must not know it in turn.
        del task


def _heard(task: "asyncio.Future[Outcome]") -> None:
    """Nobody asks a task that was left behind what it came to."""
    if not task.cancelled():
        task.exception()
