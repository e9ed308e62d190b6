"""The cost of the guard: a request by the guarded client, compared with the library below it on an open connection."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import httpcore2
import uvloop

from bench.plan import BenchError, Plan
from bench.subjects.host import weftwork
from weftwork.adapters.outbound.client import GuardedClient
from weftwork.ports.outbound import OutboundRequest
from weftwork.protocol.net.target import OutboundPolicy


def fetch_costs(plan: Plan, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    """Milliseconds of the middle request to a server on loopback, which is a host of ours that does nothing else."""
    with weftwork(folder) as host:
        host.wait()
        found = uvloop.run(_compare(f"http://127.0.0.1:{host.port}/health", plan.fetches))
    say(f"a guarded request takes {found['fetch_ms']:.2f} ms, an unguarded one {found['fetch_bare_ms']:.2f} ms")
    return found


async def _compare(url: str, count: int) -> dict[str, float]:
    client = GuardedClient(OutboundPolicy(private=True))
    async with httpcore2.AsyncConnectionPool() as pool:

        async def guarded() -> int:
            return (await client.fetch(OutboundRequest(url))).status

        async def bare() -> int:
            return (await pool.request("GET", url)).status

        # The first ones load modules and certificates. Both in every turn, so that noise meets them alike.
        for request in (guarded, bare):
            await _timed(request)
        every = [(await _timed(guarded), await _timed(bare)) for _ in range(count)]
    await client.close()
    return {"fetch_ms": median(one for one, _ in every), "fetch_bare_ms": median(other for _, other in every)}


async def _timed(request: Callable[[], Awaitable[int]]) -> float:
    async with asyncio.timeout(10):
        began = time.perf_counter()
        status = await request()
        took = (time.perf_counter() - began) * 1000
    if status != 200:
        raise BenchError(f"a request was answered with {status}")
    return took
