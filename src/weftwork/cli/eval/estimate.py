"""What an evaluation would start and cost, from the recorded tokens and the known prices. Nothing is started."""

from collections.abc import Mapping, Sequence
from typing import Any

import click
import msgspec

from weftwork.cli.console.table import align
from weftwork.cli.console.text import clean
from weftwork.cli.console.units import count_of
from weftwork.cli.eval.results_table import cost_text
from weftwork.cli.eval.sources import Skipped, Source
from weftwork.cli.eval.usage import ModelUsage, Usage
from weftwork.cli.eval.variants import Variant
from weftwork.protocol.models.model_catalogue import ModelPrice
from weftwork.settings import SettingsError, load_settings


class Estimate(msgspec.Struct, frozen=True):
    variant: str
    forks: int
    tokens: int
    """Recorded by the sources from their fork points on."""
    cost_usd: float | None
    """None if a price is unknown."""

    @property
    def document(self) -> dict[str, Any]:
        members = {"recordedTokens": self.tokens, "estimatedCostUsd": self.cost_usd}
        return {"variant": self.variant, "forks": self.forks, **members}


def read_prices(config: str | None) -> dict[str, ModelPrice]:
    """The prices by PROVIDER/MODEL, from the settings file of the host. Raises UsageError for a file that was named."""
    try:
        settings = load_settings({}, config=config)
    except SettingsError as error:
        if config is not None:
            raise click.UsageError(str(error)) from None
        return {}
    listed = ((f"{each.name}/{model.name}", model.price) for each in settings.providers for model in each.models)
    return {name: price for name, price in listed if price is not None}


def estimate(variant: Variant, sources: Sequence[Source], prices: Mapping[str, ModelPrice]) -> Estimate:
    """The tokens of the sources, at the prices of the variant's model. A variant that changes only prompts costs what
    was recorded."""
    usage = Usage()
    for source in sources:
        usage.add(source.usage)
    costs = [_cost(f"{variant.provider}/{variant.model}", name, each, prices) for name, each in usage.models.items()]
    if not variant.model:
        costs = [_cost(name, name, each, prices) for name, each in usage.models.items()]
    known = [each for each in costs if each is not None]
    cost = round(sum(known), 9) if len(known) == len(costs) else None
    return Estimate(variant.name, len(sources), usage.total.total_tokens, cost)


def _cost(model: str, recorded_model: str, usage: ModelUsage, prices: Mapping[str, ModelPrice]) -> float | None:
    """The cost of the recorded tokens with `model`; as recorded, if that is the same model."""
    if model == recorded_model and usage.cost_usd is not None:
        return usage.cost_usd
    price = prices.get(model)
    return None if price is None else price.cost(usage.input_tokens, usage.output_tokens)


def estimate_document(estimates: Sequence[Estimate], sources: Sequence[Source], skipped: Sequence[Skipped]) -> Any:
    return {
        "dryRun": True,
        "forks": sum(each.forks for each in estimates),
        "variants": [each.document for each in estimates],
        "runs": [
            {"runId": each.run_id, "fromSeq": each.point.from_seq, "nodeId": each.point.node_id} for each in sources
        ],
        "skipped": [{"runId": each.run_id, "reason": each.reason} for each in skipped],
    }


def estimate_lines(estimates: Sequence[Estimate], sources: Sequence[Source], skipped: Sequence[Skipped]) -> list[str]:
    rows = [["variant", "forks", "recorded tokens", "estimated cost"]]
    rows += [
        [clean(each.variant, 60), str(each.forks), f"{each.tokens:,}", cost_text(each.cost_usd)] for each in estimates
    ]
    forks = sum(each.forks for each in estimates)
    lines = align(rows)
    lines += [f"{clean(each.run_id)}: skipped: {each.reason}" for each in skipped]
    return [*lines, f"{count_of(forks, 'fork')} of {count_of(len(sources), 'run')} would be started."]
