"""Loading: runs on their way into memory, each by one task that everybody who wants it waits for."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from weftwork.engine.live import LiveRun
from weftwork.protocol.run import RunKey


class Loading(dict[RunKey, "asyncio.Task[LiveRun | None]"]):
    """By run, while it lasts."""

    def begin(self, run: RunKey, work: Coroutine[Any, Any, LiveRun | None]) -> "asyncio.Task[LiveRun | None]":
        """Take the place of whatever is under way."""
        task = self[run] = asyncio.create_task(work)

        def done(task: "asyncio.Task[LiveRun | None]") -> None:
            if self.get(run) is task:
                del self[run]

        task.add_done_callback(done)
        return task
