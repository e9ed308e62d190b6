"""Variants: the models and prompts with which recorded runs are branched, as a command line names them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click
import msgspec

from weftwork.cli.client.run_selection import TAG_PREFIX
from weftwork.cli.console.documents import as_object
from weftwork.cli.console.option_values import read_file
from weftwork.cli.console.text import clean

RECORDED: Final = "recorded"
"""The name of the column with the recorded runs themselves."""
MAX_TAGS: Final = 100
_MAX_SHOWN: Final = 24


class Variant(msgspec.Struct, frozen=True):
    """A change to the options of a run: another model, the texts of prompts, or both."""

    name: str
    provider: str = ""
    model: str = ""
    prompts: dict[str, str] = {}
    """Texts by the ids of `promptOverrides`."""

    @property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = {"name": self.name}
        if self.model:
            document["model"] = f"{self.provider}/{self.model}"
        return document | ({"prompts": self.prompts} if self.prompts else {})

    def overlay(self, source: Mapping[str, Any], tag: str) -> dict[str, Any]:
        """The `runOptionsOverlay` of a branch of the run with this snapshot. The host replaces each option as a whole,
        so an option that is an object keeps the members of the source here."""
        recorded = as_object(source.get("configurable"))
        options: dict[str, Any] = {}
        if self.model:
            options = {"ai.provider": self.provider, "ai.model": self.model}
            if nested := as_object(recorded.get("ai")):
                # A run may have both forms, and they must agree.
                options["ai"] = {**nested, "provider": self.provider, "model": self.model}
        if self.prompts:
            options["promptOverrides"] = {**as_object(recorded.get("promptOverrides")), **self.prompts}
        tags = [each for each in source.get("tags", ()) if not str(each).startswith(TAG_PREFIX)]
        return {"configurable": options, "tags": [*tags[: MAX_TAGS - 1], tag]}


def parse_variants(models: Sequence[str], prompts: Sequence[str], combine: bool) -> list[Variant]:
    """A variant for each model and each prompt, or with `combine` for each pair of both. Raises UsageError."""
    of_models = [_model_variant(each) for each in dict.fromkeys(models)]
    of_prompts = [_prompt_variant(each) for each in dict.fromkeys(prompts)]
    if not of_models and not of_prompts:
        raise click.UsageError("name at least one --model PROVIDER/MODEL or --prompt ID=TEXT to compare with.")
    if not combine:
        return _distinct([*of_models, *of_prompts])
    if not of_models or not of_prompts:
        raise click.UsageError("--combine needs at least one --model and one --prompt.")
    pairs = [
        Variant(f"{model.name} {prompt.name}", model.provider, model.model, prompt.prompts)
        for model in of_models
        for prompt in of_prompts
    ]
    return _distinct(pairs)


def _model_variant(text: str) -> Variant:
    provider, slash, model = text.partition("/")
    if not (provider and slash and model):
        raise click.UsageError(f"--model {clean(text, 60)} must have the form PROVIDER/MODEL.")
    return Variant(text, provider, model)


def _prompt_variant(text: str) -> Variant:
    prompt_id, equals, value = text.partition("=")
    if not prompt_id or not equals:
        raise click.UsageError(f"--prompt {clean(text, 60)} must have the form ID=TEXT or ID=@FILE.")
    if not value.startswith("@"):
        return Variant(f"{prompt_id}={clean(value, _MAX_SHOWN)}", prompts={prompt_id: value})
    try:
        content = read_file("--prompt", value[1:]).decode()
    except UnicodeDecodeError:
        raise click.UsageError(f"--prompt {clean(text, 60)} is not valid UTF-8.") from None
    return Variant(text, prompts={prompt_id: content})


def _distinct(variants: Sequence[Variant]) -> list[Variant]:
    """The variants with distinct names: long texts may begin alike."""
    names: set[str] = {RECORDED}
    found: list[Variant] = []
    for variant in variants:
        name, number = variant.name, 1
        while name in names:
            number += 1
            name = f"{variant.name} #{number}"
        names.add(name)
        found.append(msgspec.structs.replace(variant, name=name))
    return found
