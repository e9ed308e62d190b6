"""A host with a model: it says what the test says, answer by answer, and its envelopes are judged for real."""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from tests.adapters.nodes.fake_context import BUILTIN_KINDS, FakeContext, FakeScope
from weftwork.ports.models import ModelRequest
from weftwork.ports.node_outcome import AppendLog, EmitEvent
from weftwork.ports.nodes import CheckedEnvelope, Emission
from weftwork.protocol.envelopes.gate import accept
from weftwork.protocol.envelopes.gate_rules import Counter, Counters, GateRules
from weftwork.protocol.envelopes.kinds import KindDefinition
from weftwork.protocol.envelopes.outcome import EnvelopeOutcome, Invalid
from weftwork.protocol.envelopes.reassembly import EnvelopeOrigin, fill_defaults
from weftwork.protocol.models.answers import ModelAnswer, TokenUsage


class FakeModelContext(FakeContext):
    """`requests` holds what the model was asked, `told` what the log says of its answers, `sent` all outcomes."""

    def __init__(
        self, *answers: str | ModelAnswer, scope: FakeScope | None = None, kinds: Iterable[KindDefinition] = ()
    ) -> None:
        super().__init__(scope)
        self.kinds = BUILTIN_KINDS.with_kinds(kinds)
        self.answers = [model_answer(each) for each in answers]
        self.requests: list[ModelRequest] = []
        self.recorded_events: list[EmitEvent | AppendLog] = []
        self.outcomes: list[EnvelopeOutcome] = []

    async def generate(
        self, request: ModelRequest, along: Callable[[ModelAnswer], tuple[EmitEvent | AppendLog, ...]]
    ) -> ModelAnswer:
        turn = len(self.requests)
        self.requests.append(request)
        answer = replace(self.answers[turn], turn=str(turn))
        self.recorded_events += along(answer)
        return answer

    def emit_event(self, effect: AppendLog | EmitEvent) -> None:
        self.recorded_events.append(effect)

    def envelope_kind(self, name: str) -> KindDefinition | None:
        return self.kinds.find(name)

    def check_envelope(self, document: Any, emission: Emission) -> CheckedEnvelope | Invalid:
        outcome = self._judge(document, emission)
        return outcome if isinstance(outcome, Invalid) else CheckedEnvelope(document, is_validated=True)

    def _judge(self, document: Any, emission: Emission) -> EnvelopeOutcome:
        origin = EnvelopeOrigin("run", "node", f"{emission.turn}", emission.index, 0, "trusted")
        kinds = self.kinds.with_kinds(emission.kinds)
        counters = Counters(Counter(emission.index, self.limits.envelopes_per_turn))
        rules = GateRules(kinds, frozenset(kinds.names), emission.contract, counters=counters)
        return accept(fill_defaults(document, origin), rules).outcome

    async def emit_envelope(self, envelope: CheckedEnvelope, emission: Emission) -> EnvelopeOutcome:
        outcome = self._judge(envelope.document, emission)
        self.outcomes.append(outcome)
        return outcome


def model_answer(said: str | ModelAnswer) -> ModelAnswer:
    if isinstance(said, ModelAnswer):
        return said
    return ModelAnswer(said, "stop", "scripted", "scripted-1", TokenUsage(3, 2))
