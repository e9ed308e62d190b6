"""What runs that start runs cost: a map over child runs, a tree that is cancelled, and parents that wait."""

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.costs.graphs import chain, definition, edge, node
from bench.costs.waiting_cost import INBOX, answers, create, idle_cpu, settled_mib, start_ms
from bench.meter import cpu_seconds
from bench.plan import BenchError, Plan
from bench.report.statistics import percentile
from bench.subjects.host import END_SECONDS, Host, weftwork

ACTIVE_STATUSES: Final = "pending,running"
WAITING_STATUSES: Final = "waiting-approval,waiting-input,waiting-external,paused"
LOOK_SECONDS: Final = 0.02
PAGE: Final = 200
GATE: Final = definition("gate", [node(0, "core.approvalGate", {"title": "May it?"})], [])
PAIR: Final = definition("pair", [node(0, "core.subWorkflow", {"workflowId": "gate"}), node(1)], [edge(0, 1)])

Json = dict[str, Any]
Progress = Callable[[str], None]


def child_run_costs(plan: Plan, folder: Path, say: Progress) -> dict[str, float]:
    """A map over child runs of one step and of many, and how long the log of the parent gets by that."""
    found: dict[str, float] = {}
    with weftwork(folder) as host:
        host.wait()
        lengths: list[int] = []
        for name, steps in (("short", 1), ("long", plan.steps)):
            _register(host, chain(name, steps), _map(f"map-{name}", name, plan.children))
            before, began = cpu_seconds(host.pid), time.perf_counter()
            run = create(host, f"map-{name}", 1)[0]
            _await_none(host, ACTIVE_STATUSES)
            found[f"children_{name}_s"] = time.perf_counter() - began
            found[f"child_{name}_us"] = (cpu_seconds(host.pid) - before) * 1e6 / plan.children
            lengths.append(len(_log(host, run)))
        _check_all(host, "completed", 2 * (plan.children + 1))
    found["child_events"], found["child_events_ratio"] = lengths[0] / plan.children, lengths[1] / lengths[0]
    say(
        f"a map over {plan.children} child runs: {found['children_short_s']:.2f} s, of {plan.steps} steps "
        f"{found['children_long_s']:.2f} s; {found['child_events']:.3f} events of the parent for each"
    )
    return found


def tree_cancel_costs(plan: Plan, folder: Path, say: Progress) -> dict[str, float]:
    """Maps of maps of maps over runs that wait for people, which are all cancelled with the run at the top."""
    width = plan.tree
    runs = 1 + width + width**2 + width**2 * (width + 1)
    with weftwork(folder) as host:
        host.wait()
        _register(
            host, GATE, _map("twig", "gate", width + 1), _map("branch", "twig", width), _map("tree", "branch", width)
        )
        began = time.perf_counter()
        root = create(host, "tree", 1)[0]
        _await_none(host, ACTIVE_STATUSES)
        built = time.perf_counter() - began
        _check_all(host, "waiting-approval", runs)
        before, began = cpu_seconds(host.pid), time.perf_counter()
        host.call("POST", f"/v1/runs/{root}/cancel")
        _await_none(host, f"{ACTIVE_STATUSES},{WAITING_STATUSES}")
        found = {"tree_s": built, "tree_cancel_s": time.perf_counter() - began}
        found["tree_cancel_us"] = (cpu_seconds(host.pid) - before) * 1e6 / runs
        _check_all(host, "cancelled", runs)
    say(f"a tree of {runs} runs: built in {built:.1f} s, cancelled in {found['tree_cancel_s']:.1f} s")
    return found


def waiting_parent_costs(plan: Plan, folder: Path, say: Progress) -> dict[str, float]:
    """Parents that wait for a child that waits for a person, on a host that does nothing else."""
    with weftwork(folder) as host:
        host.wait()
        _register(host, GATE, PAIR)
        create(host, "pair", plan.pairs // 10)
        _await_none(host, ACTIVE_STATUSES)
        before, held = settled_mib(host), plan.pairs - plan.pairs // 10
        create(host, "pair", held)
        _await_none(host, ACTIVE_STATUSES)
        found = {"parent_kib": (settled_mib(host) - before) * 1024 / held}
        found["parents_cpu_ms_per_s"] = idle_cpu(host, plan.quiet)
        late = _result_delays(host, plan.answers)
        found["child_end_ms"], found["child_end_p99_ms"] = median(late), percentile(late, 0.99)
    found["parents_startup_ms"] = median(start_ms(folder) for _ in range(plan.startups))
    say(
        f"{plan.pairs} parents that wait: {found['parent_kib']:.2f} KiB each with its child, "
        f"{found['parents_cpu_ms_per_s']:.2f} ms of CPU a second; "
        f"end of a child to next step {found['child_end_ms']:.1f} ms, p99 {found['child_end_p99_ms']:.1f} ms"
    )
    return found


def _register(host: Host, *documents: Json) -> None:
    for document in documents:
        host.call("POST", "/v1/workflows", document)


def _map(name: str, workflow_id: str, count: int) -> Json:
    config = {"items": list(range(count)), "body": {"workflowId": workflow_id, "inputs": {}}, "concurrency": 64}
    return definition(name, [node(0, "core.flow.map", config)], [])


def _await_none(host: Host, statuses: str) -> None:
    """No run has one of these statuses any more."""
    until = time.monotonic() + END_SECONDS
    while host.call("GET", f"/v1/runs?status={statuses}&limit=1")["runs"]:
        if time.monotonic() > until:
            raise BenchError(f"there are runs that are {statuses} after {END_SECONDS:.0f} s")
        time.sleep(LOOK_SECONDS)


def _check_all(host: Host, status: str, wanted: int) -> None:
    """Raises BenchError unless there are so many runs, and all of them have this status."""
    found, cursor = 0, ""
    while True:
        page = host.call("GET", f"/v1/runs?limit={PAGE}{cursor}")
        found += sum(run["status"] == status for run in page["runs"])
        if "nextCursor" not in page:
            break
        cursor = f"&cursor={page['nextCursor']}"
    if found != wanted:
        raise BenchError(f"{found} runs of {wanted} are {status}")


def _log(host: Host, run_id: str) -> list[Json]:
    """All events of an ended run."""
    found: list[Json] = []
    while True:
        last = found[-1]["sequence"] if found else -1
        page = host.call("GET", f"/v1/runs/{run_id}/events/poll?lastSequence={last}&timeout=10")
        found += page["events"]
        if page["isComplete"]:
            return found


def _result_delays(host: Host, count: int) -> list[float]:
    """Milliseconds from the end of a child to the start of its parent's next node, by the times in their logs."""
    asked = [row["runId"] for row in host.call("GET", f"{INBOX}?limit={count}")["interrupts"]]
    answers(host, count)
    times: list[float] = []
    for child in asked:
        parent = host.call("GET", f"/v1/runs/{child}")["parentRunId"]
        (begun,) = [
            event for event in _log(host, parent) if (event["type"], event.get("nodeId")) == ("node.started", "n1")
        ]
        times.append((_instant(begun) - _instant(_log(host, child)[-1])) * 1000)
    return times


def _instant(event: Json) -> float:
    return datetime.fromisoformat(event["timestamp"]).timestamp()
