"""A fake model for tests. It records requests and returns the answers of the test."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, cast

import msgspec

from weftwork.adapters.providers.script import ScriptEntry, echo_entry, parse_entry
from weftwork.adapters.providers.scripted import SCRIPTED, SCRIPTED_MODEL, ScriptedProvider
from weftwork.ports.clock import Clock
from weftwork.ports.models import ModelProvider, ModelRequest
from weftwork.protocol.media.message_parts import MODALITIES, Modality
from weftwork.protocol.models.capability_gate import ModelCatalogue, ModelRef, OfferedProvider
from weftwork.testing.errors import Refused, UnexpectedRequest, Unmet

ModelAnswers = Mapping[str, Iterable[Any]] | Iterable[Any] | Callable[[ModelRequest], Any]


class EveryCapability(frozenset[str]):
    """Contains every name."""

    def __contains__(self, name: object) -> bool:
        return True


EVERY_CAPABILITY: Final = EveryCapability()


class FakeCatalogue(ModelCatalogue, frozen=True):
    """Every model has the capabilities of the fake model."""

    fake_capabilities: frozenset[str] = EVERY_CAPABILITY

    def capabilities_of(self, ref: ModelRef) -> frozenset[str]:
        return self.fake_capabilities


class FakeModel:
    """A fake model. `answers` is a list for all nodes, a mapping from node id to list, or a function of the request.

    An answer is a string, or an object with the members of a script entry, such as `stopReason` or `fault`. Without
    `answers`, the model echoes the prompt and fills in requested schemas. `modalities` lists the media that it accepts
    in addition to text, and `capabilities` its model capabilities; None means all. `requests` holds all requests;
    `message.media` lists the media of a message, and `await part.read()` returns the bytes.
    """

    def __init__(
        self,
        answers: ModelAnswers | None = None,
        modalities: Iterable[Modality] = MODALITIES,
        capabilities: Iterable[str] | None = None,
    ) -> None:
        self._modalities = frozenset(modalities)
        self.capabilities = EVERY_CAPABILITY if capabilities is None else frozenset(capabilities)
        self._function = answers if callable(answers) else None
        self._shared_answers: Iterator[Any] | None = None
        self._by_node: dict[str, Iterator[Any]] | None = None
        if isinstance(answers, Mapping):
            table = cast("Mapping[str, Iterable[Any]]", answers)
            self._by_node = {node_id: iter(node_answers) for node_id, node_answers in table.items()}
        elif answers is not None and self._function is None:
            self._shared_answers = iter(cast("Iterable[Any]", answers))
        self.requests: list[ModelRequest] = []
        self.unexpected: Unmet | None = None

    def modalities(self, model: str) -> frozenset[Modality]:
        """Implements adapters.providers.scripted.Source."""
        return self._modalities

    def take(self, request: ModelRequest) -> ScriptEntry:
        """Implements adapters.providers.scripted.Source."""
        self.requests.append(request)
        try:
            return self._next_entry(request)
        except Unmet as error:
            # The runner raises it later: the host treats an exception here as a fault of the provider.
            self.unexpected = self.unexpected or error
            raise

    def _next_entry(self, request: ModelRequest) -> ScriptEntry:
        if self._function is not None:
            return _entry(self._function(request))
        if self._shared_answers is None and self._by_node is None:
            return echo_entry(request)
        answers = self._shared_answers if self._by_node is None else self._by_node.get(request.node_id)
        answer = _NO_MORE if answers is None else next(answers, _NO_MORE)
        if answer is _NO_MORE:
            raise UnexpectedRequest(f"the test has no further model answer for the node {request.node_id}")
        return _entry(answer)


class FakeModels:
    """Implements ports.models.Models. Every provider name resolves to the same fake model."""

    names = (SCRIPTED,)

    def __init__(self, clock: Clock, model: FakeModel) -> None:
        self._clock = clock
        self._model = model

    @property
    def input_modalities(self) -> frozenset[Modality]:
        return self._model.modalities("")

    @property
    def catalogue(self) -> ModelCatalogue:
        """The models for the gate. A node gets the fake model, also if it selects another one."""
        offered = OfferedProvider(SCRIPTED_MODEL, {SCRIPTED_MODEL: self._model.capabilities})
        return FakeCatalogue({SCRIPTED: offered}, fake_capabilities=self._model.capabilities)

    def find(self, request: ModelRequest) -> ModelProvider:
        return ScriptedProvider(self._clock, self._model, request.provider or SCRIPTED)


_NO_MORE: Final = object()


def _entry(answer: Any) -> ScriptEntry:
    try:
        return parse_entry(answer)
    except msgspec.ValidationError as error:
        raise Refused(f"the answer of the test is not a valid model answer: {error}") from None
