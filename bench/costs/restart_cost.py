"""How long a start takes on a large store: until the host listens, and until it has executed a new run."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

from bench.large_stores import write_long_run, write_tree, write_waiting_runs
from bench.plan import BenchError, Plan
from bench.subjects.host import Host, weftwork

FIRST_RUN_SECONDS: Final = 30.0
LOOK_SECONDS: Final = 0.005


def restart_costs(plan: Plan, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    """Starts on three stores. Each store is written once and started often; a start continues what it finds."""
    stores: dict[str, Callable[[Path], None]] = {
        "tree": lambda place: write_tree(place, plan.restart_runs),
        "long": lambda place: write_long_run(place, plan.restart_mib),
        "waiting": lambda place: write_waiting_runs(place, plan.restart_waiting),
    }
    found: dict[str, float] = {}
    firsts: list[float] = []
    for name, write in stores.items():
        place = folder / name
        write(place)
        times: list[float] = []
        for _ in range(plan.restarts):
            with weftwork(place) as host:
                times.append(host.wait() * 1000)
                firsts.append(_first_run_ms(host))
        found[f"restart_{name}_ms"] = median(times)
        shutil.rmtree(place)
        say(f"start on the store {name}: {found[f'restart_{name}_ms']:.0f} ms, first run {firsts[-1]:.0f} ms")
    found["restart_first_run_ms"] = max(firsts)
    return found


def _first_run_ms(host: Host) -> float:
    """From the start of the listener until a new run has ended."""
    began = time.perf_counter()
    run = host.call("POST", "/v1/runs", {"workflowId": "one-step"})["runId"]
    while host.call("GET", f"/v1/runs/{run}")["status"] != "completed":
        if time.perf_counter() - began > FIRST_RUN_SECONDS:
            raise BenchError(f"a new run did not end within {FIRST_RUN_SECONDS:.0f} s of a start")
        time.sleep(LOOK_SECONDS)
    return (time.perf_counter() - began) * 1000
