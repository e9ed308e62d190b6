"""What is measured of our host alone: its start, memory and streams, whether it slows down, and many nodes."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Final

from bench.costs.asset_cost import asset_costs, image_run_costs
from bench.costs.child_run_cost import child_run_costs, tree_cancel_costs, waiting_parent_costs
from bench.costs.fetch_cost import fetch_costs
from bench.costs.fork_cost import fork_costs
from bench.costs.gate_cost import gate_costs
from bench.costs.graph_cost import map_costs, node_costs, registration_costs
from bench.costs.hostile_cost import hostile_costs
from bench.costs.long_run_cost import event_cost
from bench.costs.lookback_cost import lookback_costs
from bench.costs.model_call_cost import gate_turn_costs, stream_costs
from bench.costs.postgres_cost import postgres_costs
from bench.costs.provider_cost import provider_costs
from bench.costs.python_cost import loop_delays
from bench.costs.python_cost import python_node_costs as python_nodes
from bench.costs.restart_cost import restart_costs
from bench.costs.stalled_reader_cost import stalled_reader_costs
from bench.costs.surface_cost import surface_costs
from bench.costs.surface_page_cost import surface_page_costs
from bench.costs.tenant_cost import tenant_costs
from bench.costs.waiting_cost import waiting_run_costs
from bench.load.streams import Fanout, first_event_ms
from bench.meter import rss_mib
from bench.plan import Plan, Sample
from bench.subjects.host import Host, weftwork

SETTLE_SECONDS: Final = 1.0

Progress = Callable[[str], None]


def host_figures(plan: Plan, parts: Iterable[str], folder: Path, say: Progress) -> dict[str, float]:
    """Every figure of these parts by its name in the results."""
    found: dict[str, float] = {}
    for part in parts:
        found |= PARTS[part](plan, folder / part, say)
    return found


def startup_figures(plan: Plan, folder: Path, say: Progress) -> dict[str, float]:
    """From the start of the process to its first answer, and what it then holds in memory."""
    times: list[float] = []
    idle: list[float] = []
    for number in range(plan.startups):
        with weftwork(folder / str(number)) as host:
            times.append(host.wait() * 1000)
            time.sleep(SETTLE_SECONDS)
            idle.append(rss_mib(host.pid))
    found = {"startup_ms": median(times), "idle_mib": median(idle)}
    say(f"starts in {found['startup_ms']:.0f} ms, idle at {found['idle_mib']:.1f} MiB")
    return found


def lifetime_figures(plan: Plan, folder: Path, say: Progress) -> dict[str, float]:
    """Memory after half of a host's runs, and the CPU time of its last runs compared with its first ones."""
    memory: list[float] = []
    flat: list[float] = []
    for number in range(plan.lives):
        with weftwork(folder / str(number)) as host:
            host.wait()
            _runs(host, plan.life * 25 // 1000)
            early = _runs(host, plan.life * 100 // 1000)
            _runs(host, plan.life * 375 // 1000)
            memory.append(rss_mib(host.pid))
            _runs(host, plan.life * 400 // 1000)
            late = _runs(host, plan.life * 100 // 1000)
        flat.append(_cpu_per_run(late) / _cpu_per_run(early))
        say(f"life {number + 1} of {plan.lives}: {memory[-1]:.1f} MiB, CPU per run late/early {flat[-1]:.3f}")
    return {"after_10000_mib": median(memory), "cpu_flat": median(flat)}


def stream_figures(plan: Plan, folder: Path, say: Progress) -> dict[str, float]:
    with weftwork(folder) as host:
        host.wait()
        _runs(host, plan.warm)
        first = first_event_ms(host, plan.first_events)
        with Fanout(host, plan.streams, folder) as fanout:
            late = [fanout.deliver() for _ in range(plan.fanouts)]
            found = {"first_event_ms": first, "stream_kib": fanout.stream_kib, "fanout_p99_ms": median(late)}
    say(f"a stream costs {found['stream_kib']:.1f} KiB; fan-out p99 {found['fanout_p99_ms']:.0f} ms")
    return found


def _runs(host: Host, count: int) -> Sample:
    return host.drive("one-step", 16, count)


def _cpu_per_run(sample: Sample) -> float:
    return sample.cpu_seconds / len(sample.latencies)


PARTS: Final[dict[str, Callable[[Plan, Path, Progress], dict[str, float]]]] = {
    "start": startup_figures,
    "life": lifetime_figures,
    "streams": stream_figures,
    "stalled": stalled_reader_costs,
    "events": event_cost,
    "register": registration_costs,
    "chain": node_costs,
    "map": map_costs,
    "python": python_nodes,
    "sleepers": loop_delays,
    "fetch": fetch_costs,
    "waiting": waiting_run_costs,
    "children": child_run_costs,
    "trees": tree_cancel_costs,
    "parents": waiting_parent_costs,
    "accept": gate_costs,
    "speech": stream_costs,
    "provider": provider_costs,
    "gate": gate_turn_costs,
    "surfaces": surface_costs,
    "surface_page": surface_page_costs,
    "assets": asset_costs,
    "media": image_run_costs,
    "restart": restart_costs,
    "lookback": lookback_costs,
    "forks": fork_costs,
    "tenants": tenant_costs,
    "hostile": hostile_costs,
    "postgres": postgres_costs,
}
