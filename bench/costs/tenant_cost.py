"""What a greedy tenant costs the others: latency of their creates, their throughput, and the latency of /health."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final

import msgspec
import uvloop

from bench.child_process import ChildProcess
from bench.load.tenants import GREEDY_KEY, MODEST_KEYS, Greedy, Paced, definitions
from bench.plan import Plan
from bench.report.statistics import percentile
from bench.subjects.host import Host, weftwork

SETTLE_SECONDS: Final = 1.0
CREATES_PER_S: Final = 50.0
HEALTH_PER_S: Final = 50.0
CONNECTIONS: Final = 4
"""Of a modest tenant."""
LOOPING: Final = Greedy(loops=8)
EVERYTHING: Final = Greedy(creators=200, loops=8, maps=4, streams=8)


def tenant_costs(plan: Plan, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    """Measured on a host that is idle, that executes eight loops of one tenant, and that a greedy tenant floods."""
    found: dict[str, float] = {}
    found |= _create_latency(plan, folder / "creates", say)
    found |= _throughput(plan, folder / "throughput", say)
    return found


def _host(folder: Path) -> Host:
    keys = [f"{GREEDY_KEY}=greedy", *(f"{key}=modest-{number}" for number, key in enumerate(MODEST_KEYS))]
    folder.mkdir(parents=True, exist_ok=True)
    workflows = folder / "workflows"
    workflows.mkdir()
    for document in definitions():
        (workflows / f"{document['id']}.json").write_text(json.dumps(document))
    return weftwork(folder, workflows, keys=keys)


@contextmanager
def _greedy(host: Host, what: Greedy, folder: Path) -> Iterator[None]:
    arguments = [str(host.port), msgspec.json.encode(what).decode()]
    with ChildProcess("greedy", "bench.load.tenants", arguments, folder):
        time.sleep(2 * SETTLE_SECONDS)
        yield


def _create_latency(plan: Plan, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    with _host(folder) as host:
        host.wait()
        _paced(host, plan.tenant_seconds / 4)
        idle = _paced(host, plan.tenant_seconds)
        with _greedy(host, LOOPING, folder):
            busy = _paced(host, plan.tenant_seconds)
    found = {
        "create_idle_ms": median(idle),
        "create_beside_loops_ms": median(busy),
        "create_beside_loops_p99_ms": percentile(busy, 0.99),
    }
    ratio = found["create_beside_loops_ms"] / found["create_idle_ms"]
    say(
        f"a create takes {found['create_idle_ms']:.2f} ms, next to eight loops {found['create_beside_loops_ms']:.2f} ms"
        f" (x {ratio:.2f}, p99 {found['create_beside_loops_p99_ms']:.1f} ms)"
    )
    return found


def _paced(host: Host, seconds: float) -> list[float]:
    paced = Paced()
    uvloop.run(paced.run(host.port, MODEST_KEYS[0], CREATES_PER_S, 1, seconds))
    return paced.latencies


def _throughput(plan: Plan, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    with _host(folder) as host:
        host.wait()
        _modest(host, 10_000.0, plan.tenant_seconds / 4)
        capacity, _, _ = _modest(host, 10_000.0, plan.tenant_seconds)
        asked = capacity / 2
        alone, _, _ = _modest(host, asked, plan.tenant_seconds)
        with _greedy(host, EVERYTHING, folder):
            beside, late, health = _modest(host, asked, plan.tenant_seconds)
    found = {"modest_share": beside / alone, "modest_p99_ms": percentile(late, 0.99)}
    found["health_beside_greedy_p99_ms"] = percentile(health, 0.99)
    say(
        f"capacity {capacity:.0f} creates/s; nine tenants that ask for {asked:.0f}/s get {alone:.0f}/s alone and "
        f"{beside:.0f}/s next to a greedy one (x {found['modest_share']:.2f}, p50 {median(late):.1f} ms, "
        f"p99 {found['modest_p99_ms']:.1f} ms); /health p99 {found['health_beside_greedy_p99_ms']:.1f} ms"
    )
    return found


def _modest(host: Host, per_second: float, seconds: float) -> tuple[float, list[float], list[float]]:
    """Runs created per second by nine tenants together, the latencies, and those of /health meanwhile."""
    tenants = [Paced() for _ in MODEST_KEYS]
    health = Paced()

    async def work() -> None:
        rate = per_second / len(tenants)
        paced = [
            tenant.run(host.port, key, rate, CONNECTIONS, seconds)
            for tenant, key in zip(tenants, MODEST_KEYS, strict=True)
        ]
        await asyncio.gather(*paced, health.run_health(host.port, HEALTH_PER_S, seconds))

    uvloop.run(work())
    latencies = [each for tenant in tenants for each in tenant.latencies]
    return len(latencies) / seconds, latencies, health.latencies
