"""The results of an evaluation as a table: the runs one below the other, and a column for each variant."""

from collections.abc import Iterator
from typing import Final

from weftwork.cli.console.table import align
from weftwork.cli.console.text import clean
from weftwork.cli.console.units import format_duration
from weftwork.cli.eval.results import Outcome, Results, VariantTotals
from weftwork.cli.eval.usage import ModelUsage

UNKNOWN: Final = "unknown"
_MAX_NAME: Final = 40
_COUNTED: Final = ("completed", "failed", "cancelled", "waiting", "refused", "running", "not-started")


def cost_text(cost: float | None) -> str:
    """US dollars; small amounts keep two significant digits. An unknown cost is not 0."""
    if cost is None:
        return UNKNOWN
    return f"${cost:.4f}" if cost >= 0.01 or cost == 0 else f"${cost:.2g}" if cost >= 0.0001 else f"${cost:.6f}"


def number_text(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def table_lines(results: Results) -> list[str]:
    """Per run a line for each check and each measure, then the totals, the errors and notes, and the skipped runs."""
    head = ["run", "", *(clean(each, _MAX_NAME) for each in results.columns)]
    rows = [head]
    for source in results.sources:
        rows += _run_rows(results, source.run_id, [*results.of_source(source)])
    rows += _total_rows(results)
    return [*align(rows), *_remarks(results)]


def _run_rows(results: Results, run_id: str, outcomes: list[Outcome]) -> Iterator[list[str]]:
    by_column = {each.variant: each for each in outcomes}
    row = [by_column.get(name) for name in results.columns]
    measures = [("status", [_status_text(each) for each in row])]
    for check in results.checks:
        label = "score" if len(results.checks) == 1 else clean(check, _MAX_NAME)
        measures.append((label, [_score_text(each, check) for each in row]))
    measures += [
        ("tokens", ["" if each is None else _tokens_text(each.usage.total) for each in row]),
        ("cost", ["" if each is None or not each.run_id else cost_text(each.usage.total.cost_usd) for each in row]),
        ("time", ["" if each is None else _time_text(each.duration_ms) for each in row]),
    ]
    for at, (label, cells) in enumerate(measures):
        yield ["" if at else clean(run_id), label, *cells]


def _status_text(outcome: Outcome | None) -> str:
    if outcome is None:
        return ""
    if outcome.is_waiting:
        return "waiting, cancelled" if outcome.is_cancelled else "waiting"
    return clean(outcome.status, _MAX_NAME)


def _score_text(outcome: Outcome | None, check: str) -> str:
    score = next((each for each in outcome.scores if each.check == check), None) if outcome is not None else None
    if score is None:
        return "-"
    return "error" if score.error else number_text(score.score)


def _tokens_text(usage: ModelUsage) -> str:
    return f"{usage.total_tokens:,}"


def _time_text(duration: float | None) -> str:
    return "" if duration is None else format_duration(duration)


def _total_rows(results: Results) -> Iterator[list[str]]:
    totals = results.totals
    yield ["all runs", "", *("" for _ in totals)]
    for status in _COUNTED:
        if any(each.statuses[status] for each in totals):
            yield ["", status, *(f"{each.statuses[status]} of {each.count}" for each in totals)]
    for check in results.checks:
        label = "mean score" if len(results.checks) == 1 else f"mean {clean(check, _MAX_NAME)}"
        yield ["", label, *(_mean_text(each, check) for each in totals)]
    yield ["", "tokens", *(_tokens_text(each.usage.total) for each in totals)]
    yield ["", "cost", *(cost_text(each.usage.total.cost_usd) for each in totals)]
    yield ["", "mean time", *(_time_text(each.mean_duration_ms) for each in totals)]


def _mean_text(totals: VariantTotals, check: str) -> str:
    mean, scored = totals.means[check]
    if mean is None:
        return "-"
    return number_text(mean) if scored == totals.count else f"{number_text(mean)} (of {scored})"


def _remarks(results: Results) -> Iterator[str]:
    for (run_id, variant), outcome in results.outcomes.items():
        place = f"{clean(run_id)} {clean(variant, _MAX_NAME)}"
        if outcome.error:
            message = outcome.error.get("message") or ""
            yield f"{place}: {outcome.status}: {clean(outcome.error.get('code') or '', 60)}: {clean(message, 200)}"
        for score in outcome.scores:
            if text := score.error or score.note:
                yield f"{place}: {clean(score.check, 60)}: {'error: ' if score.error else ''}{clean(text)}"
    for each in results.skipped:
        yield f"{clean(each.run_id)}: skipped: {each.reason}"
