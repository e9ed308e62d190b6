"""As much of a log as a reader needs."""

import asyncio
from typing import Any

from weftwork.engine.streams.feeds import Feeds
from weftwork.protocol.run.events import Event, take_bytes
from weftwork.protocol.run.header import RunKey

KEY = RunKey("live:acme", "run-1")


class FakeEventSource:
    """As much of a log as a reader needs; reading takes a turn of the loop."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.reads = self.reading = self.max_concurrent_reads = 0

    async def read(self, run: RunKey, after: int, limit: int, budget: int = 2**40) -> list[Event]:
        self.reads += 1
        self.reading += 1
        self.max_concurrent_reads = max(self.max_concurrent_reads, self.reading)
        await asyncio.sleep(0)
        self.reading -= 1
        return take_bytes(self.events[after + 1 : after + 1 + limit], budget)

    def add(self, count: int, terminal: bool = False, size: int = 2) -> tuple[Event, ...]:
        first = len(self.events)
        kinds = ["acme.thing"] * (count - 1) + ["run.completed" if terminal else "acme.thing"]
        payload = b" " * size
        made = [Event("run-1", first + n, f"e{first + n}", kind, 0, payload) for n, kind in enumerate(kinds)]
        self.events += made
        return tuple(made)


def source_and_feeds() -> tuple[FakeEventSource, Feeds]:
    log: Any = FakeEventSource()
    return log, Feeds(log)
