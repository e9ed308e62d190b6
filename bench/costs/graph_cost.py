"""What many nodes cost: to register them, to run them in a row and in layers, in a loop, and as the items of a map."""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.costs import graphs
from bench.meter import cpu_seconds, forget_peak, peak_mib, rss_mib
from bench.plan import BenchError, Plan
from bench.subjects.host import Host, weftwork

SETTLE_SECONDS: Final = 1.0
NODES_AT_A_TIME: Final = 5_000
"""Nodes of all runs together between two readings of the CPU time."""

REGISTERED: Final = {"row": graphs.chain, "wide": graphs.wide, "computing": graphs.computing}


def registration_costs(plan: Plan, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    """From sending a definition to the answer that it is registered, and the CPU time of the dearest shape."""
    found: dict[str, float] = {}
    cpu: dict[str, float] = {}
    with weftwork(folder) as host:
        host.wait()
        for shape, make in REGISTERED.items():
            # The first is not counted. Each has an id of its own, because what is known is not registered again.
            every = [_registered(host, make(f"{shape}-{number}", plan.graph)) for number in range(plan.graphs + 1)]
            found[f"register_{shape}_ms"] = median(wall for wall, _ in every[1:])
            cpu[shape] = median(used for _, used in every[1:])
            say(f"registers {plan.graph} nodes ({shape}) in {found[f'register_{shape}_ms']:.0f} ms")
    return {**found, "register_cpu_ms": max(cpu.values())}


def _registered(host: Host, document: dict[str, Any]) -> tuple[float, float]:
    before, began = cpu_seconds(host.pid), time.perf_counter()
    host.call("POST", "/v1/workflows", document)
    return (time.perf_counter() - began) * 1000, (cpu_seconds(host.pid) - before) * 1000


def node_costs(plan: Plan, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    """CPU time of a node by the shape around it, the cost of its run included."""
    small, middle, large = plan.graph // 100, plan.graph // 10, plan.graph
    shapes = {
        "node_10_us": (graphs.chain("small", small), small),
        "node_100_us": (graphs.chain("middle", middle), middle),
        "node_1000_us": (graphs.chain("large", large), large),
        "node_layered_us": (graphs.layered("layered", large), large),
        "node_computing_us": (graphs.computing("computing", middle), middle),
        "round_us": (graphs.looping("looping", plan.loop), plan.loop),
    }
    costs: dict[str, list[float]] = {name: [] for name in shapes}
    with weftwork(folder) as host:
        host.wait()
        for document, count in shapes.values():
            host.call("POST", "/v1/workflows", document)
            host.complete(document["id"], max(1, NODES_AT_A_TIME // count // 5))
        for _ in range(plan.graphs):
            # All shapes in every turn, so that noise meets them alike.
            for name, (document, count) in shapes.items():
                runs = max(1, NODES_AT_A_TIME // count)
                costs[name].append(host.complete(document["id"], runs) * 1e6 / (runs * count))
    found = {name: median(several) for name, several in costs.items()}
    say("CPU in µs: " + ", ".join(f"{name.removesuffix('_us')} {cost:.1f}" for name, cost in found.items()))
    return found


def map_costs(plan: Plan, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    """A map over many items on a host that has done nothing before: time, CPU time, and most memory above idle."""
    found: dict[str, list[float]] = {"map_ms": [], "map_item_us": [], "map_mib": []}
    items = graphs.items(plan.items)
    for turn in range(plan.maps):
        with weftwork(folder / str(turn)) as host:
            host.wait()
            host.call("POST", "/v1/workflows", graphs.mapped("mapped"))
            time.sleep(SETTLE_SECONDS)
            idle = rss_mib(host.pid)
            forget_peak(host.pid)
            began = time.perf_counter()
            used = host.complete("mapped", 1, {"items": items})
            found["map_ms"].append((time.perf_counter() - began) * 1000)
            found["map_item_us"].append(used * 1e6 / plan.items)
            check_results(host.newest()["outputs"]["n0"], plan.items)
            # After the results were read, which is part of what a map costs.
            found["map_mib"].append(peak_mib(host.pid) - idle)
    medians = {name: median(several) for name, several in found.items()}
    say(f"a map over {plan.items} items: {medians['map_ms']:.0f} ms, {medians['map_mib']:.1f} MiB above idle")
    return medians


def check_results(outputs: dict[str, Any], count: int) -> None:
    """Raises BenchError unless there is one result for each item, in the order of the items."""
    wanted = [{"label": f"item {number}", "next": number + 1} for number in range(count)]
    if outputs["count"] != count or outputs["results"] != wanted:
        raise BenchError(f"the map over {count} items gave other results than it should")
