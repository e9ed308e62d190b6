"""What it costs that many runs wait for people: while they wait, when the inbox is read, and when one is answered."""

import http.client
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec

from bench.costs.graphs import definition, node
from bench.meter import cpu_seconds, rss_mib
from bench.plan import BenchError, Plan
from bench.report.statistics import percentile
from bench.subjects.host import Host, weftwork

SETTLE_SECONDS: Final = 1.0
INBOX: Final = "/v1/host/weftwork/interrupts"
DAY_MS: Final = 86_400_000
WORKFLOW: Final = definition(
    "waiting",
    [
        node(
            0,
            "core.approvalGate",
            {"title": "May it?", "timeoutMs": 30 * DAY_MS, "remindAfterMs": [10 * DAY_MS, 20 * DAY_MS]},
        )
    ],
    [],
)


def waiting_run_costs(plan: Plan, folder: Path, say: Callable[[str], None]) -> dict[str, float]:
    """Runs that all wait at a gate with a deadline and reminders, on a host that does nothing else."""
    with weftwork(folder) as host:
        host.wait()
        host.call("POST", "/v1/workflows", WORKFLOW)
        idle = idle_cpu(host, plan.quiet)
        create(host, "waiting", plan.waiting // 10)
        before, held = settled_mib(host), plan.waiting - plan.waiting // 10
        create(host, "waiting", held)
        found = {"idle_cpu_ms_per_s": idle, "waiting_kib": (settled_mib(host) - before) * 1024 / held}
        found["waiting_cpu_ms_per_s"] = idle_cpu(host, plan.quiet)
        pages = _pages(host, plan.pages, plan.waiting)
        found["inbox_ms"], found["inbox_p99_ms"] = median(pages), percentile(pages, 0.99)
        times = answers(host, plan.answers)
        found["link_ms"], found["link_p99_ms"] = median(times), percentile(times, 0.99)
    # On the same store, as often as a start is measured elsewhere.
    found["waiting_startup_ms"] = median(start_ms(folder) for _ in range(plan.startups))
    say(
        f"{plan.waiting} waiting runs: {found['waiting_kib']:.2f} KiB each, "
        f"{found['waiting_cpu_ms_per_s']:.2f} ms of CPU a second; "
        f"inbox p99 {found['inbox_p99_ms']:.1f} ms, answer {found['link_ms']:.1f} ms"
    )
    return found


def create(host: Host, workflow_id: str, count: int) -> list[str]:
    """The ids of so many new runs."""
    return [host.call("POST", "/v1/runs", {"workflowId": workflow_id})["runId"] for _ in range(count)]


def settled_mib(host: Host) -> float:
    """Resident memory, a moment after the last request."""
    time.sleep(SETTLE_SECONDS)
    return rss_mib(host.pid)


def idle_cpu(host: Host, seconds: float) -> float:
    """Milliseconds of CPU time per second without requests."""
    before, began = cpu_seconds(host.pid), time.perf_counter()
    time.sleep(seconds)
    return (cpu_seconds(host.pid) - before) * 1000 / (time.perf_counter() - began)


def _pages(host: Host, count: int, wanted: int) -> list[float]:
    """Milliseconds of each of so many pages, from the first to the last and again."""
    times: list[float] = []
    cursor, seen = "", 0
    while len(times) < count:
        began = time.perf_counter()
        page = host.call("GET", f"{INBOX}?limit=50{cursor}")
        times.append((time.perf_counter() - began) * 1000)
        seen += len(page["interrupts"])
        cursor = f"&cursor={page['nextCursor']}" if "nextCursor" in page else ""
        if not cursor:
            if seen != wanted:
                raise BenchError(f"the inbox has {seen} interrupts of {wanted}")
            seen = 0
    return times


def answers(host: Host, count: int) -> list[float]:
    """Milliseconds of each answer by a link, to so many runs, until it is acknowledged."""
    page = host.call("GET", f"{INBOX}?limit={count}")["interrupts"]
    body = msgspec.json.encode({"resumeValue": {"action": "accept"}})
    connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=60)
    times: list[float] = []
    for row in page:
        began = time.perf_counter()
        connection.request("POST", f"/v1/interrupts/{row['token']}", body, {"Content-Type": "application/json"})
        said: Any = msgspec.json.decode(connection.getresponse().read())
        times.append((time.perf_counter() - began) * 1000)
        if said.get("status") != "completed":
            raise BenchError(f"an answer was taken otherwise: {said}")
    connection.close()
    return times


def start_ms(folder: Path) -> float:
    """From the start of a host on what is there to its first answer."""
    with weftwork(folder) as host:
        return host.wait() * 1000
