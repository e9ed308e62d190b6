"""The model providers of a host, and the choice of the provider for a request."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from weftwork.adapters.providers.configured import ConfiguredProvider
from weftwork.adapters.providers.mock_providers import MockProvider
from weftwork.ports.clock import Clock
from weftwork.ports.models import ModelProvider, ModelRequest, ProviderFault, input_modalities, listed_models
from weftwork.protocol.models.model_catalogue import Modality
from weftwork.protocol.models.selection import MOCK_CONFIGS
from weftwork.protocol.spelling import did_you_mean

MOCK_PROVIDER: Final = "mock"
MOCK_MODEL: Final = "mock-mini"
"""The name of the model in conformance workflows; `mock` is the scripted provider under another name."""

NO_PROVIDER: Final = (
    "This host has no model provider. Add a table [providers.NAME] to its settings file, or start it with "
    "--local-model, --provider MODULE:CLASS or, to answer from a file, --model-script FILE."
)


class ProviderRegistry:
    """Implements ModelProviders. The first provider is the default."""

    def __init__(self, clock: Clock, providers: Iterable[ModelProvider] = ()) -> None:
        self._clock = clock
        self._providers = {provider.name: provider for provider in providers}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._providers)

    @property
    def providers(self) -> tuple[ModelProvider, ...]:
        return tuple(self._providers.values())

    @property
    def input_modalities(self) -> frozenset[Modality]:
        """media-42 (RFC 0091, aiProviders.input): the modalities besides text that discovery advertises: those of all
        models that the host knows."""
        known = [input_modalities(each, "") for each in self._providers.values()]
        known += [model.modalities for each in self._providers.values() for model in listed_models(each)]
        return frozenset[Modality]().union(*known)

    def find(self, request: ModelRequest) -> ModelProvider:
        """model-15 (OpenWOP host capabilities): the mock of the request, else the named provider, else the first one.

        Raises ProviderFault with the code provider_not_supported or model_not_supported.
        """
        if request.mock is not None:
            return self._mock_provider(request.mock)
        if not self._providers:
            raise ProviderFault("provider_not_supported", NO_PROVIDER, retryable=False)
        provider = self._providers.get(request.provider) if request.provider else next(iter(self._providers.values()))
        if provider is None:
            raise self._unknown_provider(request.provider)
        if isinstance(provider, ConfiguredProvider):
            provider.check_model(request.model)
        return provider

    def _mock_provider(self, option: Mapping[str, Any]) -> ModelProvider:
        name = str(option.get("id", ""))
        if name not in MOCK_CONFIGS:
            text = f"There is no such mock provider; there are {', '.join(MOCK_CONFIGS)}."
            raise ProviderFault("provider_not_supported", text, retryable=False)
        return MockProvider(self._clock, name, option.get("config") or {})

    def _unknown_provider(self, name: str) -> ProviderFault:
        hint = did_you_mean(name, self.names) or f"; it has {', '.join(self.names)}."
        text = f"This host does not have the requested provider{hint}"
        return ProviderFault("provider_not_supported", text, retryable=False)
