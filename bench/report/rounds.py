"""The comparison: every subject takes its turn in every stage of every round, so that noise meets them alike."""

import time
from collections.abc import Callable, Sequence

from bench.plan import CLIENTS, WORKFLOWS, BenchError, Plan
from bench.report.statistics import Stages, figures
from bench.subjects.registry import Subject


def compare(subjects: Sequence[Subject], plan: Plan, say: Callable[[str], None]) -> dict[str, Stages]:
    """The figures of every stage of every round, by subject."""
    found: dict[str, Stages] = {
        subject.name: {clients: {workflow: [] for workflow in WORKFLOWS} for clients in CLIENTS} for subject in subjects
    }
    for subject in subjects:
        for steps in WORKFLOWS.values():
            subject.run(steps, max(CLIENTS.values()), plan.warm, plan.seconds)
    for number in range(1, plan.rounds + 1):
        began = time.monotonic()
        for clients, workers in CLIENTS.items():
            for workflow, steps in WORKFLOWS.items():
                rates: list[str] = []
                for subject in rotated(subjects, number):
                    sample = subject.run(steps, workers, plan.runs, plan.seconds)
                    if not sample.latencies:
                        raise BenchError(f"{subject.name} finished no run within {plan.seconds} s")
                    found[subject.name][clients][workflow].append(figures(sample))
                    rates.append(f"{subject.name} {found[subject.name][clients][workflow][-1]['runs_per_s']:.0f}")
                say(f"round {number}/{plan.rounds}, {workers} clients, {workflow}, runs/s: {', '.join(rates)}")
        say(f"round {number}/{plan.rounds} took {time.monotonic() - began:.0f} s")
    return found


def rotated(subjects: Sequence[Subject], by: int) -> list[Subject]:
    """Rotates the order in every round, so that no subject always follows the one that leaves the disk busy."""
    start = by % len(subjects)
    return [*subjects[start:], *subjects[:start]]
