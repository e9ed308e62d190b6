"""The cost of Python nodes compared with `core.noop`, and whether many of them stall the event loop."""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.costs.graphs import chain
from bench.plan import BenchError, Plan
from bench.report.statistics import percentile
from bench.subjects.host import Host, weftwork

MODULE: Final = "bench.costs.python_nodes"
SHAPES: Final = {"": 1, "_chain": 10}
KINDS: Final = {"python_node": "bench.quick", "plain_node": "bench.plain"}
SLEEP_SECONDS: Final = 6.0
WATCH_SECONDS: Final = 2.0
LOOK_SECONDS: Final = 0.1


def python_node_costs(plan: Plan, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    """CPU time of a node in Python above that of one that does nothing, alone in its run and in a row of ten."""
    types = {"least": "core.noop", **KINDS}
    costs: dict[str, list[float]] = {f"{kind}{shape}": [] for kind in types for shape in SHAPES}
    with weftwork(folder, nodes=MODULE) as host:
        host.wait()
        for kind, type_id in types.items():
            for shape, count in SHAPES.items():
                host.call("POST", "/v1/workflows", chain(f"{kind}{shape}", count, type_id))
                host.complete(f"{kind}{shape}", 20)
        for _ in range(plan.graphs):
            # All kinds in every turn, so that noise meets them alike.
            for shape, count in SHAPES.items():
                for kind in types:
                    runs = max(1, plan.python // count)
                    costs[f"{kind}{shape}"].append(host.complete(f"{kind}{shape}", runs) * 1e6 / (runs * count))
    found: dict[str, float] = {}
    for shape in SHAPES:
        for kind in KINDS:
            pairs = zip(costs[f"{kind}{shape}"], costs[f"least{shape}"], strict=True)
            found[f"{kind}{shape}_us"] = median(dear - least for dear, least in pairs)
    say(
        "CPU above core.noop in µs: "
        + ", ".join(f"{name.removesuffix('_us')} {cost:.0f}" for name, cost in found.items())
    )
    return found


def loop_delays(plan: Plan, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    """How late the event loop wakes others while many nodes sleep, by a node that looks."""
    with weftwork(folder, nodes=MODULE) as host:
        host.wait()
        for name in ("sleeper", "watcher"):
            document = chain(name, 1, f"bench.{name}")
            document["nodes"][0]["inputs"] = {"seconds": {"type": "variable", "variableName": "seconds"}}
            host.call("POST", "/v1/workflows", document)
        for _ in range(plan.sleepers):
            host.call("POST", "/v1/runs", {"workflowId": "sleeper", "inputs": {"seconds": SLEEP_SECONDS}})
        watch = host.call("POST", "/v1/runs", {"workflowId": "watcher", "inputs": {"seconds": WATCH_SECONDS}})["runId"]
        late = _output(host, watch)
        asleep = len(host.call("GET", "/v1/runs?status=running&limit=1")["runs"])
        if not asleep:
            raise BenchError("the sleepers were awake before the watcher had done")
    found = {"lag_p99_ms": percentile(late, 0.99)}
    say(f"{plan.sleepers} sleeping nodes: the loop is late by {found['lag_p99_ms']:.1f} ms (p99)")
    return found


def _output(host: Host, run: str) -> Any:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = host.call("GET", f"/v1/runs/{run}")
        if found["status"] == "completed":
            return found["outputs"]["n0"]["output"]
        if found["status"] not in ("pending", "running"):
            raise BenchError(f"the watcher's run is {found['status']}")
        time.sleep(LOOK_SECONDS)
    raise BenchError("the watcher's run did not end")
