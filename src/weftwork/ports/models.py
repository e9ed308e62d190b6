"""Models: one port for every provider. A provider turns a request into deltas of an answer and a last item that says
why the answer ended."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal, Protocol, cast

import msgspec

from weftwork.ports.clock import Clock
from weftwork.ports.media import MediaKind
from weftwork.ports.outbound import Outbound
from weftwork.protocol.media.message_parts import Modality
from weftwork.protocol.models.answers import StopReason, TokenUsage
from weftwork.protocol.models.capability_gate import ModelCatalogue, OfferedProvider
from weftwork.protocol.models.model_catalogue import ModelInfo
from weftwork.protocol.models.provider_settings import ProviderSettings

Role = Literal["user", "assistant", "system"]


class ModelTextPart(msgspec.Struct, frozen=True):
    text: str


class ModelMarkerPart(ModelTextPart, frozen=True):
    """A text that the host puts before or after media, to mark the media as untrusted. A provider sends it like any
    other text."""


class ModelMediaPart(msgspec.Struct, frozen=True):
    """An image, a sound or a document in a message. The host has checked it; a provider only translates it."""

    modality: Modality
    media_type: str
    """The type that the caller declared."""
    size: int
    sha256: str
    read: Callable[[], Awaitable[bytes]]
    """Returns the bytes. A provider may call it any number of times."""
    media_ref: str | None = None
    """Set if the part is an asset of the tenant."""


class Message(msgspec.Struct, frozen=True):
    role: Role
    content: str | tuple[ModelTextPart | ModelMediaPart, ...]

    @property
    def text(self) -> str:
        """The text parts, joined with newlines; media and its markers are left out."""
        if isinstance(self.content, str):
            return self.content
        texts = (part for part in self.content if isinstance(part, ModelTextPart))
        return "\n".join(part.text for part in texts if not isinstance(part, ModelMarkerPart))

    @property
    def media(self) -> tuple[ModelMediaPart, ...]:
        if isinstance(self.content, str):
            return ()
        return tuple(part for part in self.content if isinstance(part, ModelMediaPart))


class UnresolvedMessage(Message, frozen=True):
    """media-52 (host): a message whose parts have not been checked; `content` is its text. The host resolves it before
    it calls a provider."""

    parts: tuple[Any, ...] = ()
    resolved: list[Message] = msgspec.field(default_factory=list[Message])
    """The resolved message, once there is one. It is cached here so that a retry sends the same media, and so that the
    cache is freed with the request."""


class ModelTool(msgspec.Struct, frozen=True):
    """A function that a model may call. `parameters` is the JSON Schema of its arguments, which are an object."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})


class ModelRequest(msgspec.Struct, frozen=True):
    """One call of a model. It holds no credentials: a provider resolves its own."""

    provider: str
    model: str
    messages: tuple[Message, ...]
    system: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    tools: tuple[ModelTool, ...] = ()
    """Functions that the model may call. The host records the calls and does not act on them."""
    response_schema: dict[str, Any] | None = None
    """JSON Schema of the answer, for providers that support structured output. It is a hint: the model may send an
    envelope of a universal kind instead."""
    payload_schema: dict[str, Any] | None = None
    """JSON Schema of the payload of the expected envelope. It is a hint: the model may send another envelope."""
    node_id: str = ""
    run_id: str = ""
    key: str = ""
    """Identifies this call, and is the same when the call is repeated; for providers with idempotency keys."""
    stream: bool = True
    """Whether deltas are published as they arrive. False for an answer that must pass the envelope gate first."""
    mock: Mapping[str, Any] | None = None
    """configurable.mockProvider of a run with a test key. The mock provider answers the call, and `provider` is
    ignored."""
    turn_prefix: str = ""
    """Names the conversation of this call, for a node that holds several conversations at once in one entry. Such a
    node handles failed calls itself, so the failure is recorded like an answer."""
    partition: str = ""
    """The partition of the run, for providers with state per tenant. The engine fills it in, with the ids."""


class Delta(msgspec.Struct, frozen=True):
    """A piece of text. `last` is true if the provider knows that no text follows."""

    text: str
    last: bool = False
    model: str = ""
    """The model as the provider names it with each delta; empty if it does not."""


class GeneratedMedia(msgspec.Struct, frozen=True):
    """A complete medium that a model made in addition to its text. The host stores it as an asset and emits its
    envelope."""

    kind: MediaKind
    data: bytes
    media_type: str = ""
    alt: str = ""
    name: str = ""


class AnswerEnd(msgspec.Struct, frozen=True):
    """The end of an answer; always the last item."""

    reason: StopReason
    usage: TokenUsage = TokenUsage()
    model: str = ""
    """The model as the provider names it; empty if it does not."""
    detail: str = ""
    """The provider's own name for the reason, such as max_tokens, length, stop_sequence or safety."""
    refusal: str | None = None
    """The text with which the model refused."""
    safety_category: str | None = None
    tool_calls: tuple[dict[str, Any], ...] = ()
    """Each {id, name, arguments}. The host records them and does not act on them."""


class ProviderFault(Exception):
    """The provider gave no answer. Code and message are visible on the wire, so they must not quote the request or the
    response."""

    def __init__(self, code: str, message: str, retryable: bool = True, wait_ms: int | None = None) -> None:
        """`wait_ms`: the provider is down or refuses calls for now. The node waits that long without using memory and
        then calls again; this does not count as one of its retries."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.wait_ms = wait_ms


class ModelProvider(Protocol):
    """Calls the models of one vendor, or simulates them.

    Two more members are optional. `models`, a tuple of ModelInfo: the models that the provider knows. Of a model that
    is not listed, the host knows no capability, no limit and no price. `check`, an async function without arguments:
    raises ProviderFault if the provider would not answer now.
    """

    @property
    def name(self) -> str:
        """The id that requests use: lowercase, as discovery advertises it."""
        ...

    @property
    def default_model(self) -> str: ...

    def modalities(self, model: str) -> frozenset[Modality]:
        """The modalities that a model accepts in addition to text; an empty `model` is the default model."""
        ...

    def generate(self, request: ModelRequest) -> AsyncGenerator[Delta | GeneratedMedia | AnswerEnd, None]:
        """Yield the answer piece by piece, and then one AnswerEnd. Raises ProviderFault.

        The host closes the generator early when the call is cancelled or times out.
        """
        ...


def listed_models(provider: ModelProvider) -> tuple[ModelInfo, ...]:
    """The models that the provider lists; none if it lists no models."""
    return tuple(getattr(provider, "models", ()))


def find_model(provider: ModelProvider, model: str) -> ModelInfo | None:
    """The description of a model; of the default model for an empty name. None if the provider does not list it."""
    name = model or provider.default_model
    return next((each for each in listed_models(provider) if each.name == name), None)


def model_catalogue(models: "ModelProviders", allows_substitution: bool) -> ModelCatalogue:
    """The models that the providers of a host list, with their capabilities."""
    found = {name: models.find(ModelRequest(name, "", ())) for name in models.names}
    return ModelCatalogue(
        {
            name: OfferedProvider(each.default_model, {model.name: model.capabilities for model in listed_models(each)})
            for name, each in found.items()
        },
        allows_substitution,
    )


def input_modalities(provider: ModelProvider, model: str) -> frozenset[Modality]:
    """The modalities that a model accepts in addition to text. A provider without `modalities` accepts text only."""
    modalities: Any = getattr(provider, "modalities", None)
    return frozenset(cast("Iterable[Modality]", modalities(model) if callable(modalities) else ()))


class ProviderContext(msgspec.Struct, frozen=True):
    """What the host gives to a provider when it creates it."""

    settings: ProviderSettings
    outbound: Outbound
    """The client for all requests of the provider. It reaches private addresses only if the settings of the provider
    allow that."""
    clock: Clock
    random: Callable[[], float]
    """A number from 0 to 1."""
    credential: Callable[[], str | None]
    """Returns the key, or None if the settings name none. Call it for each request, and do not keep the result: it must
    not appear in any message, log line or attribute."""


ProviderFactory = Callable[[ProviderContext], ModelProvider]
"""Creates a provider from its settings. An entry point of the group `weftwork.providers`, and `--provider`, name such a
function or class; one that takes no arguments is called without."""


class ModelProviders(Protocol):
    """The providers of a host."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names that discovery advertises, the default provider first."""
        ...

    @property
    def input_modalities(self) -> frozenset[Modality]:
        """The modalities that discovery advertises in addition to text: the union over all providers."""
        ...

    def find(self, request: ModelRequest) -> ModelProvider:
        """The provider that answers this request; an empty `provider` is the default. Raises ProviderFault with code
        provider_not_supported or host_capability_missing."""
        ...
