"""Does an event cost more in a long run than in a short one?"""

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec

from bench.costs import graphs
from bench.plan import Plan
from bench.subjects.host import Host, weftwork

SHORT_NODES: Final = 99
"""200 events."""


def definition(name: str, count: int) -> dict[str, Any]:
    """A workflow of so many nodes: the first quarter in a row, the others side by side.

    All in a row would need more values than the host takes in one definition, which are 100,000.
    """
    row = [graphs.edge(number, number + 1) for number in range(count // 4)]
    return graphs.definition(name, [graphs.node(number) for number in range(count)], row)


def event_cost(plan: Plan, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
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
    return {"event_cost_ratio": median(ratios)}


def _cpu_per_event(host: Host, workflow: str, runs: int, nodes: int) -> float:
    """In microseconds."""
    return host.complete(workflow, runs) * 1e6 / (runs * (2 * nodes + 2))
