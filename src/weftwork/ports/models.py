"""Models: one port for every provider. A request goes in, deltas of an answer come out, and a last item says why it
ended."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal, Protocol, cast

import msgspec

from weftwork.ports.media import MediaKind
from weftwork.protocol.media.message_parts import Modality
from weftwork.protocol.models.answers import StopReason, TokenUsage

Role = Literal["user", "assistant", "system"]


class ModelTextPart(msgspec.Struct, frozen=True):
    text: str


class ModelMediaPart(msgspec.Struct, frozen=True):
    """Something to see, hear or read. It has passed every check; an adapter has only to translate it."""

    modality: Modality
    media_type: str
    """As the caller says it is."""
    size: int
    sha256: str
    read: Callable[[], Awaitable[bytes]]
    """The bytes. They may be asked for more than once, and not at all."""
    media_ref: str | None = None
    """If it is an asset of the tenant."""


class Message(msgspec.Struct, frozen=True):
    role: Role
    content: str | tuple[ModelTextPart | ModelMediaPart, ...]

    @property
    def text(self) -> str:
        """Its text alone, the parts joined line by line."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if isinstance(part, ModelTextPart))

    @property
    def media(self) -> tuple[ModelMediaPart, ...]:
        if isinstance(self.content, str):
            return ()
        return tuple(part for part in self.content if isinstance(part, ModelMediaPart))


class UnresolvedMessage(Message, frozen=True):
    """media-52 (host): a message whose parts nobody has looked at; `content` is the text in it. No provider ever gets
    one."""

    parts: tuple[Any, ...] = ()
    resolved: list[Message] = msgspec.field(default_factory=list[Message])
    """What it came to. Kept here, so that a model that is asked again is shown the same, and nothing outlives the
    request."""


class ModelRequest(msgspec.Struct, frozen=True):
    """What a model is asked. No credential is in it: an adapter resolves its own."""

    provider: str
    model: str
    messages: tuple[Message, ...]
    system: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    response_schema: dict[str, Any] | None = None
    """The shape that the answer is to have, for providers that can be told."""
    payload_schema: dict[str, Any] | None = None
    """The shape of the payload of the envelope that is wanted. No more than a hint: the model may send another."""
    node_id: str = ""
    run_id: str = ""
    key: str = ""
    """The identity of this call, the same whenever it is made again; for providers with idempotency keys."""
    stream: bool = True
    """Whether the pieces are shown as they come. What is to pass the gate first is not."""
    mock: Mapping[str, Any] | None = None
    """configurable.mockProvider of a run with a test key: the call goes there, whatever provider it names."""
    turn_prefix: str = ""
    """Which of the conversations that one entry of a node has side by side it belongs to. What a node does after a
    call that failed is its own affair then, so that failure is recorded like an answer."""
    partition: str = ""
    """Whose run it is, for providers that are told things for one tenant. The engine fills it in, with the ids."""


class Delta(msgspec.Struct, frozen=True):
    """A piece of text. `last`: the adapter knows that none follows; one that cannot know says nothing."""

    text: str
    last: bool = False
    model: str = ""
    """As the provider names it with each piece; empty if it does not."""


class GeneratedMedia(msgspec.Struct, frozen=True):
    """Something that a model has made beside its text, whole. The host keeps it as an asset and sends its envelope."""

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
    """As the provider names it; empty if it does not say."""
    detail: str = ""
    """The provider's own word for the reason: max_tokens, length, stop_sequence, safety."""
    refusal: str | None = None
    """What a model said when it refused."""
    safety_category: str | None = None
    tool_calls: tuple[dict[str, Any], ...] = ()
    """{id, name, arguments}; nobody acts on them yet."""


class ProviderFault(Exception):
    """No answer came. Code and message go on the wire, so neither holds anything of a request or a response."""

    def __init__(self, code: str, message: str, retryable: bool = True) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable


class ModelProvider(Protocol):
    """One vendor, or one that plays a vendor."""

    @property
    def name(self) -> str:
        """The id that a request names: lowercase, as discovery advertises it."""
        ...

    @property
    def default_model(self) -> str: ...

    def modalities(self, model: str) -> frozenset[Modality]:
        """What a model takes beside text; `model` empty is the default. Discovery advertises what any of them takes."""
        ...

    def generate(self, request: ModelRequest) -> AsyncGenerator[Delta | GeneratedMedia | AnswerEnd, None]:
        """The answer, piece by piece, and then one Stop. Raises ProviderFault. Closed when nobody listens any more."""
        ...


def input_modalities(provider: ModelProvider, model: str) -> frozenset[Modality]:
    """What the model takes beside text; one of a provider that does not say takes text alone."""
    asked: Any = getattr(provider, "modalities", None)
    return frozenset(cast("Iterable[Modality]", asked(model) if callable(asked) else ()))


class ModelProviders(Protocol):
    """The providers of a host."""

    @property
    def names(self) -> tuple[str, ...]:
        """What discovery advertises, the default first."""
        ...

    @property
    def input_modalities(self) -> frozenset[Modality]:
        """What discovery advertises beside text: all that any provider takes."""
        ...

    def find(self, request: ModelRequest) -> ModelProvider:
        """Who answers this request; `provider` empty is the default. Raises ProviderFault, provider_not_supported or
        host_capability_missing."""
        ...
