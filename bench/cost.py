"""Instructions per run: what the host executes in user space, by thread, counted by valgrind.

Theory. CPU time depends on the machine and on what else it does; the number of instructions hardly does. The host is
`weftwork serve` in a process of its own with SQLite on disk, under callgrind, which counts nothing until the host is
warm. 16 clients on loopback then make runs in waves, see bench.cost_load; some waves are a window, and the figure of
each thread is the median of the windows. The kernel's work is not counted.
"""

import argparse
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final, NoReturn

import msgspec

from bench import machine
from bench.callgrind import Callgrind, require, run
from bench.child_process import ROOT, end_all
from bench.cost_load import Load
from bench.plan import BenchError
from bench.report.statistics import text_table
from bench.scenarios import SCENARIOS, host_of, register

OUT: Final = ROOT / "bench" / "cost.json"
HOST: Final = "bench.slow_host"
NAMES: Final = ("one_step", "three_step", "python_node")
CLIENTS: Final = 16
THREADS: Final = ("loop", "writer", "others")
HEAD: Final = ["instructions per run, thousands", "event loop", "writer", "others", "total", "windows differ"]
RUN: Final = (
    "POST /v1/runs, the run to its end, its commits, its log line, and one GET /v1/runs/{runId}; "
    f"{CLIENTS} clients on kept-alive connections send their requests together"
)

Say = Callable[[str], None]


class Plan(msgspec.Struct, frozen=True):
    """Waves of each scenario, a run per client each: `warm` before counting begins, then `windows` times `waves`."""

    warm: int = 20
    waves: int = 20
    windows: int = 3


FULL: Final = Plan()
QUICK: Final = Plan(warm=2, waves=2, windows=1)


def measure(plan: Plan, names: list[str], folder: Path, say: Say) -> dict[str, Any]:
    """The results of these scenarios, a host for each."""
    return {
        "meta": {
            "commit": machine.commit(),
            "python": platform.python_version(),
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "machine": platform.machine(),
            "cpu": machine.cpu_model(Path("/proc/cpuinfo").read_text("utf-8")),
            "versions": machine.versions(),
            "clients": CLIENTS,
            **msgspec.structs.asdict(plan),
            "run": RUN,
        },
        "instructions_per_run": {name: scenario(plan, name, folder / name, say) for name in names},
    }


def scenario(plan: Plan, name: str, folder: Path, say: Say) -> dict[str, Any]:
    """Instructions per run by thread, and how much the windows differ in percent."""
    folder.mkdir(parents=True)
    callgrind = Callgrind(folder)
    say(f"{SCENARIOS[name].title}: starting the host under valgrind")
    with host_of([name], folder, HOST, callgrind.wrapper) as host:
        host.wait()
        register(host, [name])

        try:
            with Load(host.port, host.pid, SCENARIOS[name].workflow, CLIENTS) as load:
                found = _windows(plan, load, callgrind, host.pid, lambda text: say(f"{SCENARIOS[name].title}: {text}"))
        except (BenchError, OSError) as error:
            raise host.child.failure(f"failed ({error})") from None
    return summary(found, plan.waves * CLIENTS)


def _windows(plan: Plan, load: Load, callgrind: Callgrind, pid: int, say: Say) -> list[dict[str, int]]:
    """Instructions by thread, of each window."""
    load.make(plan.warm)
    callgrind.begin(pid)
    load.make(1)
    found: list[dict[str, int]] = []
    for number in range(1, plan.windows + 1):
        callgrind.zero(pid)
        load.make(plan.waves)
        found.append(callgrind.dump(pid))
        each = ", ".join(f"{thread} {_thousands(count / CLIENTS / plan.waves)}" for thread, count in found[-1].items())
        say(f"window {number}/{plan.windows}, thousands per run: {each}")
    return found


def summary(windows: list[dict[str, int]], runs: int) -> dict[str, Any]:
    """The medians of the windows, and of the totals the largest difference."""
    of_threads = {thread: round(median(window[thread] for window in windows) / runs) for thread in THREADS}
    totals = [sum(window.values()) / runs for window in windows]
    return {
        **of_threads,
        "total": sum(of_threads.values()),
        "spread_percent": round((max(totals) / min(totals) - 1) * 100, 2),
    }


def _thousands(count: float) -> str:
    return f"{count / 1000:,.1f}"


def rows(document: dict[str, Any]) -> list[list[str]]:
    return [
        [
            SCENARIOS[name].title,
            *(_thousands(found[column]) for column in (*THREADS, "total")),
            f"{found['spread_percent']:.2f} %",
        ]
        for name, found in document["instructions_per_run"].items()
    ]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="make cost ARGS=...",
        description="Count the instructions of a run with valgrind, by thread. Takes about three minutes.",
        epilog=f"One run: {RUN}.",
    )
    made.add_argument("--only", type=_names, metavar="SCENARIO,...", help=f"some of: {', '.join(NAMES)}")
    made.add_argument("--quick", action="store_true", help="a smoke test with few runs; its figures are rough")
    made.add_argument("--json", action="store_true", help="print the results as JSON instead of a table")
    made.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="where the results go  [bench/cost.json if all scenarios are measured, else nowhere]",
    )
    return made


def _names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no {', '.join(unknown)}; there are {', '.join(NAMES)}")
    return [name for name in NAMES if name in names]


def main(arguments: list[str]) -> int:
    """Exit status: 0 when everything was counted, 1 when something was not, 130 when interrupted."""
    given = parser().parse_args(arguments)
    began = time.monotonic()

    def say(text: str) -> None:
        sys.stderr.write(f"[{time.monotonic() - began:4.0f} s] {text}\n")

    os.environ["PYTHONHASHSEED"] = "0"
    signal.signal(signal.SIGTERM, _interrupt)
    folder = Path(tempfile.mkdtemp(prefix="weftwork-cost-"))
    try:
        require(shutil.which, os.geteuid() == 0, run)
        document = measure(QUICK if given.quick else FULL, given.only or list(NAMES), folder, say)
    except BenchError as error:
        sys.stderr.write(f"cost: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("cost: stopped\n")
        return 130
    finally:
        end_all()
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(json.dumps(document, indent=2) + "\n" if given.json else text_table(HEAD, rows(document)))
    out = given.out or (None if given.quick or given.only else OUT)
    if out is not None:
        out.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
        say(f"wrote {out}")
    return 0


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
