"""The command line: measure, show, and write down."""

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from bench import machine
from bench.child_process import ROOT, end_all
from bench.costs.host_figures import PARTS, host_figures
from bench.plan import FULL, LEAST_ROUNDS, QUICK, SUBJECTS, BenchError, Plan
from bench.report import page
from bench.report.chart import chart
from bench.report.rounds import compare
from bench.report.statistics import MAX_STEADY_SPREAD, STAGE_HEAD, results, spread, stage_rows, text_table
from bench.report.targets import TARGET_HEAD, target_results, target_rows
from bench.subjects.registry import started_subjects

PAGE = ROOT / "docs" / "performance.md"
CHART = ROOT / "docs" / "assets" / "performance.svg"


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="make bench ARGS=...",
        description="Compare the host with a bare server, LangGraph and DBOS. Takes about ten minutes.",
        epilog="A run of all subjects with five or more rounds also writes docs/performance.md and its chart.",
    )
    made.add_argument("--rounds", type=_positive, metavar="N", help=f"rounds of the comparison  [{FULL.rounds}]")
    made.add_argument("--runs", type=_positive, metavar="N", help=f"most runs of one stage  [{FULL.runs}]")
    made.add_argument("--seconds", type=float, metavar="S", help=f"longest time of one stage  [{FULL.seconds}]")
    made.add_argument("--only", type=_names, metavar="SUBJECT,...", help=f"some of: {', '.join(SUBJECTS)}")
    made.add_argument(
        "--figures",
        type=_parts,
        metavar="PART,...",
        help=f"skip the comparison and measure only these figures of the host: {', '.join(PARTS)}",
    )
    made.add_argument("--quick", action="store_true", help="a smoke test of one minute; its figures are not meaningful")
    made.add_argument("--json", action="store_true", help="print the results as JSON instead of tables")
    made.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        default=ROOT / "bench" / "latest.json",
        help="where the results go  [bench/latest.json]",
    )
    return made


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("takes a whole number from 1")
    return int(text)


def _names(text: str) -> list[str]:
    return _some(text, SUBJECTS)


def _parts(text: str) -> list[str]:
    return _some(text, tuple(PARTS))


def _some(text: str, known: tuple[str, ...]) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no {', '.join(unknown)}; there are {', '.join(known)}")
    return [name for name in known if name in names]


def main(arguments: list[str]) -> int:
    """Exit status: 0 when everything was measured, whether or not the targets are met; 1 when something was not."""
    given = parser().parse_args(arguments)
    wanted = {name: getattr(given, name) for name in ("rounds", "runs", "seconds") if getattr(given, name) is not None}
    plan = msgspec.structs.replace(QUICK if given.quick else FULL, **wanted)
    if given.only and given.figures:
        parser().error("--figures compares nothing, so --only has nothing to choose from")
    names = [] if given.figures else given.only or list(SUBJECTS)
    parts = given.figures or (list(PARTS) if "weftwork" in names else [])
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        document = measure(plan, names, parts)
    except BenchError as error:
        sys.stderr.write(f"bench: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("bench: stopped\n")
        return 130
    given.out.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
    if given.json:
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        for head, rows in ((STAGE_HEAD, stage_rows(document)), (page.OWN_HEAD, page.own_rows(document))):
            sys.stdout.write(f"\n{text_table(head, rows)}" if rows else "")
        sys.stdout.write(f"\n{text_table(TARGET_HEAD, target_rows(document))}")
    if names == list(SUBJECTS) and plan.rounds >= LEAST_ROUNDS and not given.quick:
        PAGE.write_text(page.filled(PAGE.read_text("utf-8"), document), "utf-8")
        CHART.parent.mkdir(parents=True, exist_ok=True)
        CHART.write_text(chart(document), "utf-8")
        sys.stderr.write(f"bench: wrote {given.out}, {PAGE} and {CHART}\n")
    else:
        sys.stderr.write(f"bench: wrote {given.out}; the page is for full runs and stays as it is\n")
    return 0


def measure(plan: Plan, names: list[str], parts: list[str]) -> dict[str, Any]:
    """Measure these parts of the host's own figures, and compare these subjects.

    All in a folder that is removed at the end; every process that was started is ended before.
    """
    if not Path("/proc/self/stat").exists():
        raise BenchError("CPU time and memory are read from /proc, which this system does not have")
    machine.allow_sockets(2 * plan.streams + 500)
    folder = Path(tempfile.mkdtemp(prefix="weftwork-bench-"))
    began = time.monotonic()

    def say(text: str) -> None:
        sys.stderr.write(f"[{time.monotonic() - began:5.0f} s] {text}\n")

    for warning in machine.warnings(folder):
        say(f"warning: {warning}")
    try:
        meta = machine.description(plan)
        own = host_figures(plan, parts, folder / "own", say)
        with started_subjects(names, folder, say) as subjects:
            rounds = compare(subjects, plan, say) if subjects else {}
        meta["spread"] = spread(rounds)
        if max(meta["spread"].values(), default=1.0) > MAX_STEADY_SPREAD:
            say(f"warning: rounds differ much (fastest/slowest {meta['spread']}): measure again on a quiet machine")
        document = results(rounds, own, meta)
        meta["targets"] = target_results(document)
        meta["minutes"] = round((time.monotonic() - began) / 60, 1)
        return document
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        end_all()
        shutil.rmtree(folder, ignore_errors=True)


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt
