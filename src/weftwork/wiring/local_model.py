"""The model on this machine that `local_model` names: its weights, its server, and its provider."""

import random
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from weftwork.adapters.model_server.model_server import SLOT_TOKENS, ModelServer
from weftwork.adapters.model_server.weights import KNOWN_MODELS, is_gguf
from weftwork.adapters.outbound.client import GuardedClient
from weftwork.adapters.outbound.guard import AddressGuard
from weftwork.adapters.outbound.resolver import SystemResolver
from weftwork.adapters.providers.configured import ConfiguredProvider
from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.ports.models import ProviderContext
from weftwork.protocol.models.model_catalogue import STRUCTURED_OUTPUT, ModelInfo
from weftwork.protocol.models.provider_settings import (
    OPENAI_COMPATIBLE_TYPE,
    ProviderSettings,
    ProviderTimeouts,
    outbound_policy,
)
from weftwork.protocol.net.address import Address
from weftwork.protocol.net.outbound import FetchLimits
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.data_folder import MODELS_FOLDER
from weftwork.wiring.providers import MAX_RESPONSE_BYTES, PROVIDER_TYPES, CreatedProvider

LOCAL_PROVIDER: Final = "local"
LOCAL_CREDENTIAL: Final = "start"
"""The key of the model server is new at each start of the host, and stored nowhere."""
SEED: Final = 7
"""Fixed, so that the same request has the same answer."""
LOG_FILE: Final = "server.log"
TIMEOUTS: Final = ProviderTimeouts(first_byte=300.0, idle=60.0, total=900.0)
"""A processor reads about 80 tokens of a prompt per second, and a request may wait for the answers before it."""


def build_model_server(settings: Settings, ids: Ids) -> ModelServer | None:
    """The server for the weights that the settings name, which is not started yet; None if they name none. Raises
    SettingsError."""
    if not settings.local_model:
        return None
    weights = _find_weights(settings)
    if find_spec("xllamacpp") is None:
        raise SettingsError("local_model: the model server is not installed; run pip install 'weftwork[local]'")
    names = {model.file: model.name for model in KNOWN_MODELS.values()}
    name = names.get(weights.name, weights.stem)
    return ModelServer(weights, name, settings.data_folder / MODELS_FOLDER / LOG_FILE, ids.token())


def _find_weights(settings: Settings) -> Path:
    known = KNOWN_MODELS.get(settings.local_model)
    if known is not None:
        weights = settings.data_folder / MODELS_FOLDER / known.file
        if not weights.is_file():
            raise SettingsError(
                f"local_model: the weights of {known.name} are not in {weights.parent}; run weftwork models fetch "
                f"{known.name}, with the same --data as for weftwork serve"
            )
        return weights
    weights = Path(settings.local_model).expanduser().absolute()
    try:
        is_valid = is_gguf(weights)
    except OSError as error:
        raise SettingsError(
            f"local_model: cannot read {weights}: {error.strerror}; name a GGUF file, or one of the models that "
            f"weftwork models fetch downloads: {', '.join(KNOWN_MODELS)}"
        ) from None
    if not is_valid:
        raise SettingsError(f"local_model: {weights} is not a GGUF file")
    return weights


def local_provider(server: ModelServer, clock: Clock, agent: str) -> CreatedProvider:
    """The provider `local`, whose client connects to this machine only."""
    model = ModelInfo(server.model, frozenset({STRUCTURED_OUTPUT}), max_output_tokens=SLOT_TOKENS // 2)
    settings = ProviderSettings(
        LOCAL_PROVIDER,
        OPENAI_COMPATIBLE_TYPE,
        base_url=server.base_url,
        credential=LOCAL_CREDENTIAL,
        allow_private_network=True,
        timeouts=TIMEOUTS,
        models=(model,),
        # With a cached prompt, llama.cpp computes in another order, and the same request can have another answer.
        options={"seed": SEED, "body": {"cache_prompt": False}},
    )
    resolver = SystemResolver()
    guard = AddressGuard(resolver, private=True, judge=_is_loopback)
    limits = FetchLimits(int(TIMEOUTS.total * 1000), MAX_RESPONSE_BYTES)
    client = GuardedClient(outbound_policy(settings), limits, resolver, guard, agent)
    context = ProviderContext(settings, client, clock, random.random, lambda: server.key)
    provider = PROVIDER_TYPES[OPENAI_COMPATIBLE_TYPE](context)
    return CreatedProvider(ConfiguredProvider(provider, settings), client, "--local-model")


def _is_loopback(address: Address, _private: bool) -> bool:
    return address.is_loopback
