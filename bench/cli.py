"""The command line: measure, show, and write down."""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from bench import machine
from bench.child_process import ROOT, end_all
from bench.costs.host_figures import PARTS, host_figures
from bench.plan import FULL, LEAST_ROUNDS, ON_POSTGRES, QUICK, SUBJECTS, BenchError, Plan
from bench.postgres_server import missing
from bench.report import page
from bench.report.chart import chart
from bench.report.rounds import compare
from bench.report.statistics import MAX_STEADY_SPREAD, STAGE_HEAD, results, spread, stage_rows, text_table
from bench.report.targets import TARGET_HEAD, target_results, target_rows
from bench.subjects.registry import started_subjects

PAGE = ROOT / "docs" / "performance.md"
POSTGRES_PAGE = ROOT / "docs" / "performance-postgres.md"
CHART = ROOT / "docs" / "assets" / "performance.svg"


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="make bench ARGS=...",
        description="Compare the host with a bare server, LangGraph and DBOS. Takes about ten minutes.",
        epilog="With five or more rounds, a run of all subjects also writes the pages docs/performance.md and "
        "docs/performance-postgres.md and the chart, and a run with --postgres the second of these pages.",
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
    made.add_argument(
        "--postgres",
        action="store_true",
        help="compare only the host on SQLite and PostgreSQL and DBOS on PostgreSQL, and measure the figures postgres",
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
    if given.postgres and (given.only or given.figures):
        parser().error("--postgres says what to compare and to measure, so there is nothing to choose")
    if given.postgres:
        names, parts = ["weftwork", *ON_POSTGRES], ["postgres"]
    else:
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
    _show(document, given.json)
    written = _write_pages(document) if plan.rounds >= LEAST_ROUNDS and not given.quick else []
    named = ", ".join(map(str, [given.out, *written]))
    sys.stderr.write(f"bench: wrote {named}{'' if written else '; the pages are for full runs and stay as they are'}\n")
    return 0


def _show(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return
    for head, rows in ((STAGE_HEAD, stage_rows(document)), (page.OWN_HEAD, page.own_rows(document))):
        sys.stdout.write(f"\n{text_table(head, rows)}" if rows else "")
    sys.stdout.write(f"\n{text_table(TARGET_HEAD, target_rows(document))}")


def _write_pages(document: dict[str, Any]) -> list[Path]:
    """Write those for which everything was measured, and return them."""
    written: list[Path] = []
    if page.has_host(document):
        PAGE.write_text(page.filled(PAGE.read_text("utf-8"), page.block(document)), "utf-8")
        CHART.parent.mkdir(parents=True, exist_ok=True)
        CHART.write_text(chart(document), "utf-8")
        written += [PAGE, CHART]
    if page.has_postgres(document):
        text = page.filled(POSTGRES_PAGE.read_text("utf-8"), page.postgres_block(document))
        POSTGRES_PAGE.write_text(text, "utf-8")
        written.append(POSTGRES_PAGE)
    return written


def measure(plan: Plan, names: list[str], parts: list[str]) -> dict[str, Any]:
    """Measure these parts of the host's own figures, and compare these subjects.

    All in a folder that is removed at the end; every process that was started is ended before.
    """
    if not Path("/proc/self/stat").exists():
        raise BenchError("CPU time and memory are read from /proc, which this system does not have")
    machine.allow_sockets(2 * plan.streams + 500)
    folder = Path(tempfile.mkdtemp(prefix="weftwork-bench-"))
    folder.chmod(0o711)  # a PostgreSQL server has another user
    began = time.monotonic()

    def say(text: str) -> None:
        sys.stderr.write(f"[{time.monotonic() - began:5.0f} s] {text}\n")

    for warning in machine.warnings(folder):
        say(f"warning: {warning}")
    try:
        names = possible_subjects(names, folder, say)
        meta = machine.description(plan)
        own = host_figures(plan, parts, folder / "own", say)
        with started_subjects(names, folder, say) as subjects:
            rounds = compare(subjects, plan, say) if subjects else {}
        meta["spread"] = spread(rounds)
        if max(meta["spread"].values(), default=1.0) > MAX_STEADY_SPREAD:
            say(f"warning: rounds differ much (fastest/slowest {meta['spread']}): measure again on a quiet machine")
        meta["load_after"] = round(os.getloadavg()[0], 2)
        document = results(rounds, own, meta)
        meta["targets"] = target_results(document)
        meta["minutes"] = round((time.monotonic() - began) / 60, 1)
        return document
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        end_all()
        shutil.rmtree(folder, ignore_errors=True)


def possible_subjects(names: list[str], folder: Path, say: Callable[[str], None]) -> list[str]:
    """Those of the subjects that can be started on this machine; says which cannot, and why."""
    left_out = [name for name in names if name in ON_POSTGRES]
    reason = missing(folder) if left_out else None
    if reason is None:
        return names
    if names == left_out:
        raise BenchError(reason)
    say(f"warning: {' and '.join(left_out)} are left out: {reason}")
    return [name for name in names if name not in left_out]


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt
