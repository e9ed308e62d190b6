"""Nodes in Python that do next to nothing, to see what it costs to have them, and one that watches the event loop."""

import asyncio
import time

import weftwork


@weftwork.node("bench.quick", version="1.0.0")
async def quick(ctx: weftwork.Context, value: int = 0) -> int:
    """Gives what it is given."""
    return value


@weftwork.node("bench.plain", version="1.0.0")
def plain(ctx: weftwork.PlainContext, value: int = 0) -> int:
    """Gives what it is given, in a thread."""
    return value


@weftwork.node("bench.sleeper", version="1.0.0")
async def sleeper(ctx: weftwork.Context, seconds: float = 1.0) -> int:
    """Sleeps, and turns over ten times a second."""
    until = time.monotonic() + seconds
    turns = 0
    while time.monotonic() < until:
        await asyncio.sleep(0.1)
        turns += 1
    return turns


@weftwork.node("bench.watcher", version="1.0.0")
async def watcher(ctx: weftwork.Context, seconds: float = 1.0) -> list[float]:
    """How much later than it asked for it was woken, in milliseconds, each time."""
    late: list[float] = []
    until = time.monotonic() + seconds
    while (now := time.monotonic()) < until:
        await asyncio.sleep(0.005)
        late.append((time.monotonic() - now - 0.005) * 1000)
    return late
