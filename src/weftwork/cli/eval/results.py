"""The results of an evaluation: an outcome per run and variant, and the totals of each variant.

The document matches the schema `eval-results`. A mean is over the outcomes that have a score, and says how many these
are. A cost is unknown if the price of one of its calls is.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from weftwork.cli.eval.branches import Branch
from weftwork.cli.eval.checks import Score
from weftwork.cli.eval.sources import Skipped, Source
from weftwork.cli.eval.usage import Usage
from weftwork.cli.eval.variants import RECORDED, Variant

FORMAT_VERSION: Final = "1"


class Outcome(msgspec.Struct):
    """What became of one run with one variant; of the recorded run itself in the column `recorded`."""

    variant: str
    run_id: str
    status: str
    usage: Usage
    duration_ms: float | None = None
    is_waiting: bool = False
    is_timed_out: bool = False
    is_cancelled: bool = False
    """Whether the fork was cancelled because it waited."""
    outputs: Any = None
    error: dict[str, Any] = {}
    scores: list[Score] = []

    @property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = {"variant": self.variant, "status": self.status}
        if self.run_id:
            document["runId"] = self.run_id
        flags = {"isWaiting": self.is_waiting, "isTimedOut": self.is_timed_out, "isCancelled": self.is_cancelled}
        document |= {name: True for name, value in flags.items() if value}
        if self.error:
            document["error"] = self.error
        if self.status == "completed":
            document["outputs"] = self.outputs
        return document | {
            "scores": [each.document for each in self.scores],
            "usage": self.usage.document,
            "durationMs": self.duration_ms,
        }


def recorded_outcome(source: Source) -> Outcome:
    snapshot = source.snapshot
    return Outcome(
        RECORDED,
        source.run_id,
        str(snapshot.get("status")),
        source.usage,
        source.duration_ms,
        outputs=snapshot.get("outputs"),
        error=snapshot.get("error") or {},
    )


def branch_outcome(branch: Branch) -> Outcome:
    """The outcome as far as it is known."""
    return Outcome(
        branch.variant.name,
        branch.run_id,
        branch.status,
        branch.usage.copy(),
        branch.duration_ms,
        branch.is_waiting,
        branch.is_timed_out,
        outputs=branch.snapshot.get("outputs"),
        error=branch.error,
    )


class VariantTotals(msgspec.Struct):
    """The outcomes of one variant together."""

    variant: str
    statuses: Counter[str]
    means: dict[str, tuple[float | None, int]]
    """By check: the mean score, None without a score, and the number of outcomes that have one."""
    usage: Usage
    mean_duration_ms: float | None
    count: int

    @property
    def document(self) -> dict[str, Any]:
        checks = [{"check": name, "mean": mean, "scored": scored} for name, (mean, scored) in self.means.items()]
        return {
            "variant": self.variant,
            "outcomes": self.count,
            "statuses": dict(sorted(self.statuses.items())),
            "checks": checks,
            "usage": self.usage.document,
            "meanDurationMs": self.mean_duration_ms,
        }


def totals_of(variant: str, outcomes: Sequence[Outcome], checks: Sequence[str]) -> VariantTotals:
    usage = Usage()
    for each in outcomes:
        usage.add(each.usage)
    scores = {name: [s.score for o in outcomes for s in o.scores if s.check == name] for name in checks}
    return VariantTotals(
        variant,
        Counter("waiting" if each.is_waiting else each.status for each in outcomes),
        {name: _mean(values) for name, values in scores.items()},
        usage,
        _mean(each.duration_ms for each in outcomes)[0],
        len(outcomes),
    )


def _mean(values: Iterable[float | None]) -> tuple[float | None, int]:
    known = [each for each in values if each is not None]
    return (round(sum(known) / len(known), 6) if known else None), len(known)


class Results(msgspec.Struct):
    """Everything about one evaluation."""

    name: str
    created_at: str
    versions: dict[str, Any]
    checks: list[str]
    variants: list[Variant]
    sources: list[Source]
    skipped: list[Skipped]
    outcomes: dict[tuple[str, str], Outcome] = {}
    """By source run and variant."""
    is_complete: bool = False

    @property
    def columns(self) -> list[str]:
        return [RECORDED, *(each.name for each in self.variants)]

    def add(self, source: Source, outcome: Outcome) -> None:
        self.outcomes[source.run_id, outcome.variant] = outcome

    def of_source(self, source: Source) -> list[Outcome]:
        """The outcomes of a run, in the order of the columns."""
        found = (self.outcomes.get((source.run_id, each)) for each in self.columns)
        return [each for each in found if each is not None]

    @property
    def totals(self) -> list[VariantTotals]:
        return [
            totals_of(name, [each for (_, column), each in self.outcomes.items() if column == name], self.checks)
            for name in self.columns
        ]

    @property
    def document(self) -> dict[str, Any]:
        return {
            "formatVersion": FORMAT_VERSION,
            "name": self.name,
            "createdAt": self.created_at,
            "isComplete": self.is_complete,
            "versions": self.versions,
            "checks": self.checks,
            "variants": [{"name": RECORDED}, *(each.document for each in self.variants)],
            "runs": [
                {
                    "runId": source.run_id,
                    "workflowId": source.snapshot.get("workflowId"),
                    "fromSeq": source.point.from_seq,
                    "nodeId": source.point.node_id,
                    "outcomes": [each.document for each in self.of_source(source)],
                }
                for source in self.sources
            ],
            "skipped": [{"runId": each.run_id, "reason": each.reason} for each in self.skipped],
            "totals": [each.document for each in self.totals],
        }
