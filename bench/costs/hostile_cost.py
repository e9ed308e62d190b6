"""What the hostile corpus does to a host: the longest hold of the event loop, the latency of /health, and memory.

Theory. The corpus is sent twice: to a host that watches its loop, and to one that does not, whose /health is asked
meanwhile. A loop that is watched never rests, so its latencies would say nothing.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench.child_process import ChildProcess
from bench.costs.hostile_corpus import CASES, Case, documents, model_script
from bench.meter import forget_peak, peak_mib, rss_mib
from bench.plan import Plan
from bench.report.statistics import percentile
from bench.subjects.host import MODULE, Host, weftwork

WATCHED: Final = "bench.watched_host"
WAIT_SECONDS: Final = 60.0
SETTLE_SECONDS: Final = 1.0
BUSY_MS: Final = 100.0
"""More than this in one case disturbs its latencies."""

Progress = Callable[[str], None]
Figures = dict[str, float]


def hostile_costs(plan: Plan, folder: Path, say: Progress) -> dict[str, float]:
    """The worst case of each figure. All cases use one host, one after the other."""
    holds = _holds(plan, folder / "holds")
    found = _latencies(plan, folder / "latencies", say)
    for case in CASES:
        found[case.name]["hold_ms"] = holds[case.name]
        say(_line(case.name, found[case.name]))
    return {f"hostile_{name}": max(each[name] for each in found.values()) for name in found[CASES[0].name]}


@contextmanager
def _host(folder: Path, module: str) -> Iterator[Host]:
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "script.json"
    script.write_bytes(model_script())
    with weftwork(folder, module=module, model_script=script) as host:
        host.wait()
        for document in documents():
            host.call("POST", "/v1/workflows", document)
        time.sleep(SETTLE_SECONDS)
        yield host


def _holds(plan: Plan, folder: Path) -> Figures:
    """The longest hold of each case in milliseconds of CPU time."""
    found: Figures = {}
    with _host(folder, WATCHED) as host:
        for case in CASES:
            _take(host.child)
            _repeat(host, case, plan)
            found[case.name] = _take(host.child)
    return found


def _latencies(plan: Plan, folder: Path, say: Progress) -> dict[str, Figures]:
    """Latency of /health and peak memory of each case. Each process has its peak at its own time."""
    found: dict[str, Figures] = {}
    with (
        _host(folder, MODULE) as host,
        ChildProcess("health_probe", "bench.load.health_probe", [str(host.port)], folder) as probe,
    ):
        idle = rss_mib(host.pid)
        _take(probe)
        time.sleep(plan.hostile_seconds)
        say(f"/health of an idle host: p99 {percentile(_take(probe), 0.99):.1f} ms")
        for case in CASES:
            forget_peak(host.pid)
            _take(probe)
            waited = _waited_ms(host.pid)
            _repeat(host, case, plan)
            late, waited = _take(probe), _waited_ms(host.pid) - waited
            if waited > BUSY_MS:
                say(f"{case.name}: the event loop waited {waited:.0f} ms for a core; the machine is not idle")
            found[case.name] = {
                "health_p99_ms": percentile(late, 0.99),
                "health_max_ms": max(late),
                "mib": peak_mib(host.pid) - idle,
            }
    return found


def _repeat(host: Host, case: Case, plan: Plan) -> None:
    until = time.monotonic() + plan.hostile_seconds
    while True:
        case.work(host, plan)
        if time.monotonic() > until:
            return


def _waited_ms(pid: int) -> float:
    """How long the main thread of a process was ready to run and waited for a core."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text("ascii").split()[1]) / 1e6
    except OSError:
        return 0.0


def _take(child: ChildProcess) -> Any:
    """What a watched host or a probe measured since it was asked last."""
    child.send(None)
    return child.receive(WAIT_SECONDS)


def _line(name: str, figures: dict[str, float]) -> str:
    return (
        f"{name}: loop held for {figures['hold_ms']:.0f} ms; /health p99 {figures['health_p99_ms']:.1f} ms, "
        f"max {figures['health_max_ms']:.0f} ms; {figures['mib']:.0f} MiB above idle"
    )
