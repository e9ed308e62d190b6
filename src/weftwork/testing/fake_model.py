"""A model for tests: requests are recorded, and answered by the test."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, cast

import msgspec

from weftwork.adapters.providers.script import ScriptEntry, echo_entry, parse_entry
from weftwork.adapters.providers.scripted import SCRIPTED, ScriptedProvider
from weftwork.ports.clock import Clock
from weftwork.ports.models import ModelProvider, ModelRequest
from weftwork.protocol.media.message_parts import MODALITIES, Modality
from weftwork.testing.errors import Refused, UnexpectedRequest, Unmet

ModelAnswers = Mapping[str, Iterable[Any]] | Iterable[Any] | Callable[[ModelRequest], Any]


class FakeModel:
    """Answers whoever asks by a list, the nodes by a list for each id, or by a function of the request.

    An answer is a text, or an object with the members that an entry of a script has: `stopReason`, `fault` and others.
    Without any answers it says what it was told, and fills in the schemas that it is given. `modalities` is what it
    takes beside text. What it was shown is in `requests`: `message.media`, with `await part.read()` for the bytes.
    """

    def __init__(self, answers: ModelAnswers | None = None, modalities: Iterable[Modality] = MODALITIES) -> None:
        self._modalities = frozenset(modalities)
        self._function = answers if callable(answers) else None
        self._shared_answers: Iterator[Any] | None = None
        self._by_node: dict[str, Iterator[Any]] | None = None
        if isinstance(answers, Mapping):
            table = cast("Mapping[str, Iterable[Any]]", answers)
            self._by_node = {node_id: iter(listed) for node_id, listed in table.items()}
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
            # Kept, because the host takes it for a fault of the provider.
            self.unexpected = self.unexpected or error
            raise

    def _next_entry(self, request: ModelRequest) -> ScriptEntry:
        if self._function is not None:
            return _entry(self._function(request))
        if self._shared_answers is None and self._by_node is None:
            return echo_entry(request)
        answers = self._shared_answers if self._by_node is None else self._by_node.get(request.node_id)
        found = _NO_MORE if answers is None else next(answers, _NO_MORE)
        if found is _NO_MORE:
            raise UnexpectedRequest(f"the test has no further answer of a model for the node {request.node_id}")
        return _entry(found)


class FakeModels:
    """Implements ports.models.Models: every provider that anybody names is the same fake."""

    names = (SCRIPTED,)

    def __init__(self, clock: Clock, model: FakeModel) -> None:
        self._clock = clock
        self._model = model

    @property
    def input_modalities(self) -> frozenset[Modality]:
        return self._model.modalities("")

    def find(self, request: ModelRequest) -> ModelProvider:
        return ScriptedProvider(self._clock, self._model, request.provider or SCRIPTED)


_NO_MORE: Final = object()


def _entry(answer: Any) -> ScriptEntry:
    try:
        return parse_entry(answer)
    except msgspec.ValidationError as error:
        raise Refused(f"no model can answer this: {error}") from None
