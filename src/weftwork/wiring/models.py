"""Builds the model providers and loads the prompt templates of a host."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from weftwork.adapters.providers.registry import ProviderRegistry, default_providers
from weftwork.adapters.providers.script import ScriptError, read_script
from weftwork.adapters.providers.scripted import ScriptPlayer
from weftwork.ports.clock import Clock
from weftwork.ports.models import ModelProvider
from weftwork.protocol.models.prompt_templates import PromptTemplate, PromptTemplates, check_template, parse_template
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.document_file import DocumentFileError, read_document

MAX_TEMPLATE_BYTES: Final = 524_288
"""The size limit of one template file."""


def build_providers(
    settings: Settings, clock: Clock, more: Iterable[ModelProvider] = ()
) -> tuple[ProviderRegistry, ScriptPlayer]:
    """`more` followed by the providers of the settings, and the script that the scripted provider plays.

    Raises SettingsError.
    """
    try:
        script = read_script(Path(settings.model_script).expanduser()) if settings.model_script else None
    except ScriptError as error:
        raise SettingsError(f"--model-script {error}") from None
    player = ScriptPlayer(script)
    if settings.test_seams:
        from weftwork.conformance.endpoints.model_programs import ScriptedPrograms

        player = ScriptedPrograms(script)
    return default_providers(clock, player, settings.test_seams or settings.conformance, more), player


def load_templates(settings: Settings) -> PromptTemplates:
    """The templates in the folders of `prompts`, and with `conformance` those of the conformance workflows. Raises
    SettingsError."""
    templates: list[PromptTemplate] = []
    if settings.conformance:
        from weftwork.conformance.workflows import conformance_prompts

        templates += conformance_prompts()
    for folder in map(Path, settings.prompts):
        if not folder.is_dir():
            raise SettingsError(f"--prompts {folder}: there is no such folder")
        templates += map(_load_file, sorted(folder.glob("*.json")))
    try:
        return PromptTemplates(templates)
    except ValueError as error:
        raise SettingsError(f"--prompts: {error}") from None


def _load_file(file: Path) -> PromptTemplate:
    place = f"--prompts {file}"
    try:
        document = read_document(file, MAX_TEMPLATE_BYTES)
    except DocumentFileError as error:
        raise SettingsError(f"{place}: {error}") from None
    if violations := check_template(document):
        raise SettingsError(f"{place}: {violations[0].pointer or '/'} {violations[0].message}")
    return parse_template(document)
