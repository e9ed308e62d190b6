"""From samples to figures: percentiles, medians over rounds, and tables."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, Final

from bench.plan import CLIENTS, SUBJECTS, WORKFLOWS, Sample

Figures = dict[str, float]
Stages = dict[str, dict[str, list[Figures]]]
"""By number of clients and workflow, the figures of every round."""
MAX_STEADY_SPREAD: Final = 1.5
"""A spread from which medians of rounds say little."""
FIGURES: Final = ("runs_per_s", "p50_ms", "p99_ms", "cpu_ms_per_run", "server_cpu_ms_per_run")


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that so large a share of them does not pass."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def figures(sample: Sample) -> Figures:
    """One stage in five numbers."""
    count = len(sample.latencies)
    return {
        "runs_per_s": count / sample.seconds,
        "p50_ms": percentile(sample.latencies, 0.50),
        "p99_ms": percentile(sample.latencies, 0.99),
        "cpu_ms_per_run": sample.cpu_seconds * 1000 / count,
        "server_cpu_ms_per_run": sample.server_cpu_seconds * 1000 / count,
    }


def medians(stages: Stages) -> dict[str, dict[str, Figures]]:
    """The median of each figure over the rounds."""
    return {
        clients: {
            workflow: {name: median(one[name] for one in rounds) for name in FIGURES}
            for workflow, rounds in workflows.items()
        }
        for clients, workflows in stages.items()
    }


def spread(rounds: dict[str, Stages]) -> dict[str, float]:
    """By subject, the rate of its fastest round divided by that of its slowest: near 1 on a quiet machine."""
    rates = {name: [one["runs_per_s"] for one in stages["clients16"]["one_step"]] for name, stages in rounds.items()}
    return {name: round(max(found) / min(found), 2) for name, found in rates.items()}


def results(rounds: dict[str, Stages], host: Figures, meta: dict[str, Any]) -> dict[str, Any]:
    """The whole document: subjects by name, our own figures inside our subject, and how it was measured."""
    found: dict[str, Any] = {name: medians(stages) for name, stages in rounds.items()}
    if host:
        found["weftwork"] = found.get("weftwork", {}) | host
    return {**_rounded(found), "meta": meta}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    return round(value, 3 if value < 100 else 1)


def stage_rows(document: dict[str, Any], names: Sequence[str] = SUBJECTS) -> list[list[str]]:
    """A row for every stage of each of these subjects that was compared."""
    rows: list[list[str]] = []
    for clients, number in CLIENTS.items():
        for workflow, steps in WORKFLOWS.items():
            for name, subject in subjects(document).items():
                if clients not in subject or name not in names:
                    continue
                one = subject[clients][workflow]
                shown = [f"{one['runs_per_s']:,.0f}", *(f"{one[figure]:.2f}" for figure in FIGURES[1:])]
                rows.append([name, str(number), str(steps), *shown])
    return rows


def subjects(document: dict[str, Any]) -> dict[str, Any]:
    return {name: subject for name, subject in document.items() if name != "meta"}


STAGE_HEAD: Final = ["subject", "clients", "steps", "runs/s", "p50 ms", "p99 ms", "CPU ms/run", "server CPU ms/run"]


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for a terminal: the first column to the left, the others to the right."""
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in enumerate(cells))
        for cells in (list(zip(row, widths, strict=True)) for row in [head, *rows])
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for a page, with numbers to the right."""
    ruler = ["---", *["---:"] * (len(head) - 1)]
    return "".join("| " + " | ".join(row) + " |\n" for row in [head, ruler, *rows])
