"""The model providers of a host, and the choice of the provider for a request."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from weftwork.adapters.providers.mock_providers import MockProvider
from weftwork.adapters.providers.scripted import EntrySource, ScriptedProvider, ScriptPlayer
from weftwork.ports.clock import Clock
from weftwork.ports.models import ModelProvider, ModelRequest, ProviderFault, input_modalities
from weftwork.protocol.media.message_parts import Modality
from weftwork.protocol.models.selection import MOCK_CONFIGS

MOCK_PROVIDER: Final = "mock"
MOCK_MODEL: Final = "mock-mini"
"""The name of the model in conformance workflows; `mock` is the scripted provider under another name."""


class ProviderRegistry:
    """Implements Models. The first provider is the default."""

    def __init__(self, clock: Clock, providers: Iterable[ModelProvider]) -> None:
        self._clock = clock
        self._providers = {provider.name: provider for provider in providers}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._providers)

    @property
    def input_modalities(self) -> frozenset[Modality]:
        """media-42 (RFC 0091, aiProviders.input): the modalities besides text that discovery advertises."""
        return frozenset[Modality]().union(*(input_modalities(each, "") for each in self._providers.values()))

    def find(self, request: ModelRequest) -> ModelProvider:
        """model-15 (OpenWOP host capabilities): the mock of the request, else the named provider, else the first one.

        Raises ProviderFault.
        """
        if request.mock is not None:
            return self._mock_provider(request.mock)
        if not self._providers:
            raise ProviderFault("host_capability_missing", "This host has no model provider.", retryable=False)
        provider = self._providers.get(request.provider) if request.provider else next(iter(self._providers.values()))
        if provider is None:
            raise _unknown_provider()
        return provider

    def _mock_provider(self, option: Mapping[str, Any]) -> ModelProvider:
        name = str(option.get("id", ""))
        if name not in MOCK_CONFIGS:
            raise _unknown_provider()
        return MockProvider(self._clock, name, option.get("config") or {})


def _unknown_provider() -> ProviderFault:
    message = "This host does not have the requested provider; aiProviders of the discovery document lists them."
    return ProviderFault("provider_not_supported", message, retryable=False)


def default_providers(
    clock: Clock, source: EntrySource | None = None, testing: bool = False, more: Iterable[ModelProvider] = ()
) -> ProviderRegistry:
    """The providers of a host: `more`, then the scripted provider, which answers from `source`.

    `testing`: the host has test endpoints or conformance workflows, and therefore also the provider `mock`.
    """
    source = source or ScriptPlayer()
    built_in = [ScriptedProvider(clock, source)]
    if testing:
        built_in.append(ScriptedProvider(clock, source, MOCK_PROVIDER, MOCK_MODEL))
    return ProviderRegistry(clock, [*more, *built_in])
