"""A provider with the models that its settings list."""

from collections.abc import AsyncGenerator
from typing import Any, Final

import msgspec

from weftwork.ports.models import (
    AnswerEnd,
    Delta,
    GeneratedMedia,
    ModelProvider,
    ModelRequest,
    ProviderFault,
    input_modalities,
)
from weftwork.protocol.models.model_catalogue import Modality, ModelInfo
from weftwork.protocol.models.provider_settings import ProviderSettings
from weftwork.protocol.spelling import did_you_mean

MAX_LISTED: Final = 10
"""Models that a message lists."""


class ConfiguredProvider:
    """Implements ModelProvider. The models of the settings take precedence over those that the provider itself lists,
    and the first one is the default."""

    def __init__(self, provider: ModelProvider, settings: ProviderSettings) -> None:
        self._provider = provider
        self._settings = settings
        self.name = provider.name
        self.default_model = settings.models[0].name

    @property
    def models(self) -> tuple[ModelInfo, ...]:
        return self._settings.models

    @property
    def check(self) -> Any:
        """The check of the provider; None if it has none."""
        return getattr(self._provider, "check", None)

    def modalities(self, model: str) -> frozenset[Modality]:
        info = self._settings.model(model)
        return input_modalities(self._provider, model) if info is None else info.modalities

    def check_model(self, model: str) -> None:
        """model-32 (envelope.md 7.4): a request names a listed model, or none. Other models are for providers with
        `other_models`. Raises ProviderFault."""
        if self._settings.other_models or self._settings.model(model) is not None:
            return
        names = [each.name for each in self._settings.models]
        more = ", ..." if len(names) > MAX_LISTED else ""
        hint = did_you_mean(model, names) or f"; it has {', '.join(names[:MAX_LISTED])}{more}."
        text = f"The provider {self.name} of this host does not list the requested model{hint}"
        raise ProviderFault("model_not_supported", text, retryable=False)

    def generate(self, request: ModelRequest) -> AsyncGenerator[Delta | GeneratedMedia | AnswerEnd, None]:
        if not request.model:
            request = msgspec.structs.replace(request, model=self.default_model)
        return self._provider.generate(request)
