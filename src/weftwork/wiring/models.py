"""Builds the model providers and loads the prompt templates of a host."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from weftwork.adapters.model_server.model_server import ModelServer
from weftwork.adapters.outbound.client import GuardedClient
from weftwork.adapters.providers.registry import MOCK_MODEL, MOCK_PROVIDER, ProviderRegistry
from weftwork.adapters.providers.script import ScriptError, read_script
from weftwork.adapters.providers.scripted import ScriptedProvider, ScriptPlayer
from weftwork.ports.clock import Clock
from weftwork.ports.models import ModelProvider
from weftwork.protocol.models.prompt_templates import PromptTemplate, PromptTemplates, check_template, parse_template
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.document_file import DocumentFileError, read_document
from weftwork.wiring.local_model import local_provider
from weftwork.wiring.providers import create_providers

MAX_TEMPLATE_BYTES: Final = 524_288
"""The size limit of one template file."""


class HostModels(msgspec.Struct, frozen=True):
    """The providers of a host, the script that its scripted and mock providers play, and the clients to close."""

    registry: ProviderRegistry
    script_player: ScriptPlayer
    clients: tuple[GuardedClient, ...] = ()
    server: ModelServer | None = None
    """The model server of `--local-model`, to start and to close."""


def build_models(
    settings: Settings,
    clock: Clock,
    more: Iterable[ModelProvider] = (),
    agent: str = "weftwork",
    server: ModelServer | None = None,
) -> HostModels:
    """model-33 (host): only the providers that the operator configured, the first one as default: `more`, `--provider`,
    `--model-script`, `--local-model`, the settings file, and the mock of a host for conformance tests.

    `server`: the model server of `--local-model`. Raises SettingsError.
    """
    try:
        script = read_script(Path(settings.model_script).expanduser()) if settings.model_script else None
    except ScriptError as error:
        raise SettingsError(f"--model-script {error}") from None
    player = ScriptPlayer(script)
    if settings.test_seams:
        from weftwork.conformance.endpoints.model_programs import ScriptedPrograms

        player = ScriptedPrograms(script)
    created = create_providers(settings, clock, agent)
    own_classes = len(settings.provider)
    found = [(each, "Host(providers=...)") for each in more]
    found += [(each.provider, each.place) for each in created[:own_classes]]
    if settings.model_script:
        found.append((ScriptedProvider(clock, player), "--model-script"))
    if server is not None:
        created.insert(own_classes, local_provider(server, clock, agent))
    found += [(each.provider, each.place) for each in created[own_classes:]]
    if settings.test_seams or settings.conformance:
        found.append((ScriptedProvider(clock, player, MOCK_PROVIDER, MOCK_MODEL), "--conformance or --test-seams"))
    places: dict[str, str] = {}
    for provider, place in found:
        if (other := places.get(provider.name)) is not None:
            raise SettingsError(f"two providers are named {provider.name}: {other} and {place}; rename the table")
        places[provider.name] = place
    registry = ProviderRegistry(clock, [provider for provider, _ in found])
    return HostModels(registry, player, tuple(each.client for each in created), server)


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
