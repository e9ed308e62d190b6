"""How long a look at an earlier state of a long run takes: the first one, which folds the log, and later ones."""

import random
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

from bench.costs.graphs import definition, edge, node
from bench.plan import BenchError, Plan
from bench.subjects.host import Host, weftwork

BODY_NODES: Final = 8
"""Nodes in the body of the loop. Each writes a variable, with three events."""
SETTINGS: Final = "max_node_executions = 1000000\n"
SEED: Final = 20


def writing_loop(name: str, events: int) -> dict[str, Any]:
    """A run of at least so many events: a loop whose nodes write a variable each."""
    rounds = events // (3 * BODY_NODES + 2) + 1
    value = {"value": {"type": "expression", "expression": "variables.v1 + 1.0"}}
    writers = [node(number, "core.setVariable", {"name": f"v{number}"}, value) for number in range(1, BODY_NODES + 1)]
    edges = [edge(0, 1, sourceOutput="body"), edge(BODY_NODES, 0)]
    edges += [edge(number, number + 1) for number in range(1, BODY_NODES)]
    variables = [{"name": f"v{number}", "type": "number", "defaultValue": 0} for number in range(1, BODY_NODES + 1)]
    head = node(0, "core.loop", {"times": rounds})
    return definition(name, [head, *writers], edges, variables=variables, settings={"maxLoopbackIterations": rounds})


def lookback_costs(plan: Plan, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    """Random looks at one run, each after the first one measured alone; and the first look after a new start."""
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "weftwork.toml").write_text(SETTINGS, "utf-8")
    with weftwork(folder) as host:
        host.wait()
        host.call("POST", "/v1/workflows", writing_loop("long", plan.look_events))
        host.complete("long", 1)
        newest = host.newest()
    run_id, dice = newest["runId"], random.Random(SEED)  # noqa: S311
    firsts: list[float] = []
    times: list[float] = []
    for _ in range(plan.first_looks):
        with weftwork(folder) as host:
            host.wait()
            last = last_sequence(host, run_id, plan.look_events)
            firsts.append(_look(host, run_id, last - 1))
            times += [_look(host, run_id, dice.randint(0, last)) for _ in range(plan.looks)]
    found = {
        "lookback_first_ms": median(firsts),
        "lookback_ms": median(times),
        "lookback_p99_ms": quantiles(times, n=100, method="inclusive")[98],
    }
    say(
        f"a look at a run of {plan.look_events:,} events takes {found['lookback_ms']:.0f} ms, p99 "
        f"{found['lookback_p99_ms']:.0f} ms; the first one after a start {found['lookback_first_ms']:.0f} ms"
    )
    return found


def last_sequence(host: Host, run_id: str, least: int) -> int:
    """That of a run that has ended, with at least so many events."""
    page: dict[str, Any] = {"lastEventSeq": least - 1, "isComplete": False}
    while not page["isComplete"]:
        page = host.call("GET", f"/v1/runs/{run_id}/events/poll?lastSequence={page['lastEventSeq']}")
    if not page["events"]:
        raise BenchError(f"the run has fewer than {least} events")
    return int(page["lastEventSeq"])


def _look(host: Host, run_id: str, sequence: int) -> float:
    """In milliseconds."""
    began = time.perf_counter()
    host.call("GET", f"/v1/runs/{run_id}?atSequence={sequence}")
    return (time.perf_counter() - began) * 1000
