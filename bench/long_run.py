"""Does an event cost more in a long run than in a short one?"""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec

from bench.host import Host, weftwork
from bench.meter import cpu_seconds
from bench.plan import BenchError, Plan

SHORT_NODES: Final = 99
"""200 events."""
LOOK_SECONDS: Final = 0.05
MOST_SECONDS: Final = 120.0


def definition(name: str, count: int) -> dict[str, Any]:
    """A workflow of so many nodes: the first quarter in a row, the others side by side.

    All in a row would need more values than the host takes in one definition, which are 100,000.
    """
    nodes = [
        {
            "id": f"n{number}",
            "typeId": "core.noop",
            "name": "n",
            "position": {"x": 0, "y": 0},
            "config": {},
            "inputs": {},
        }
        for number in range(count)
    ]
    edges = [
        {"id": f"e{number}", "sourceNodeId": f"n{number}", "targetNodeId": f"n{number + 1}"}
        for number in range(count // 4)
    ]
    empty: dict[str, Any] = {"triggers": [], "variables": [], "metadata": {}, "settings": {}}
    return {"id": name, "name": name, "version": "1.0", "nodes": nodes, "edges": edges, **empty}


def event_cost_ratio(plan: Plan, folder: Path, say: Callable[[str], None]) -> float:
    """CPU time per event of one long run, divided by that of as many events in runs of 200."""
    flows = folder / "flows"
    flows.mkdir(parents=True)
    for name, count in (("short", SHORT_NODES), ("long", plan.nodes)):
        (flows / f"{name}.json").write_bytes(msgspec.json.encode(definition(name, count)))
    ratios: list[float] = []
    with weftwork(folder, flows) as host:
        host.wait()
        runs = max(1, plan.nodes // SHORT_NODES)
        _cpu_per_event(host, "short", runs, SHORT_NODES)
        for _ in range(plan.costs):
            short = _cpu_per_event(host, "short", runs, SHORT_NODES)
            long = _cpu_per_event(host, "long", 1, plan.nodes)
            ratios.append(long / short)
            say(f"an event costs {short:.1f} µs in a short run and {long:.1f} µs in a long one")
    return median(ratios)


def _cpu_per_event(host: Host, workflow: str, runs: int, nodes: int) -> float:
    """Microseconds from the first create to the last end. Looks seldom, and at a list, which shows no node states."""
    before = cpu_seconds(host.pid)
    for _ in range(runs):
        host.call("POST", "/v1/runs", {"workflowId": workflow})
    until = time.monotonic() + MOST_SECONDS
    while host.call("GET", "/v1/runs?status=pending,running&limit=1")["runs"]:
        if time.monotonic() > until:
            raise BenchError(f"the {workflow} run did not end within {MOST_SECONDS:.0f} s")
        time.sleep(LOOK_SECONDS)
    used = cpu_seconds(host.pid) - before
    if host.call("GET", "/v1/runs?limit=1")["runs"][0]["status"] != "completed":
        raise BenchError(f"the {workflow} run did not complete")
    return used * 1e6 / (runs * (2 * nodes + 2))
