"""One turn of a model: checks the envelopes of its answer, and acts on them in their order.

Nodes that request a text, a value or an envelope share this code, so every node treats the universal kinds alike: a
clarification request becomes an interrupt, a schema request is answered, and an error is logged and reported.
"""

from typing import Any

import msgspec

from weftwork.ports.node_outcome import Failed
from weftwork.ports.nodes import CheckedEnvelope, Emission, NodeCall, NodeContext
from weftwork.protocol.envelopes.answer_documents import check_answer_id
from weftwork.protocol.envelopes.checks import CORRELATION_CONFLICT
from weftwork.protocol.envelopes.gate_rules import EnvelopeContract
from weftwork.protocol.envelopes.handling import clarification_interrupt, envelope_failure
from weftwork.protocol.envelopes.instructions import discarded_kind_text, schema_response_text, unknown_kind_text
from weftwork.protocol.envelopes.kinds import (
    CLARIFICATION_KIND,
    ERROR_KIND,
    SCHEMA_REQUEST_KIND,
    UNIVERSAL_KINDS,
    KindDefinition,
)
from weftwork.protocol.envelopes.outcome import Accepted, Gated, Invalid
from weftwork.protocol.envelopes.reassembly import EnvelopeOrigin
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.models.answers import ModelAnswer
from weftwork.protocol.privacy.trust import wrap_untrusted


class ModelTurn(msgspec.Struct, eq=False):
    """Processes the envelopes of one answer in their order."""

    context: NodeContext
    _call: NodeCall
    _contract: EnvelopeContract
    _earlier_rounds: int = 0
    """Corrections and schema requests before this turn."""
    _kinds: tuple[KindDefinition, ...] = ()
    """Kinds that only this node accepts."""
    checked: list[CheckedEnvelope] = []
    """The envelopes of the newest answer that have passed the check; all of them if the answer is complete."""
    clarified: bool = False
    """Whether a person has answered questions of this turn."""
    accepted: list[Accepted] = []
    """The accepted envelopes that the node may use: errors, and all kinds that are not universal."""
    fragments: list[str] = []
    """The message to the model in its next turn."""
    _kinds_by_id: dict[str, str] = {}
    _sent: int = 0
    _schema_requests: int = 0

    @property
    def node_id(self) -> str:
        return self._call.node_id

    @property
    def rounds(self) -> int:
        """Corrections and schema requests so far."""
        return self._earlier_rounds + self._schema_requests

    @property
    def used_rounds(self) -> int:
        """The rounds that this turn takes, without its corrections: one for each schema request. A turn without any
        takes one, unless a person has answered a question of it."""
        return self._schema_requests or int(not self.clarified)

    def knows(self, kind: str) -> bool:
        """Whether this host or this workflow defines the kind."""
        return self.context.envelope_kind(kind) is not None

    def emission(self, answer: ModelAnswer) -> Emission:
        return Emission(answer.turn, self._sent, self.rounds, self._contract, self._kinds)

    @property
    def origin(self) -> EnvelopeOrigin:
        """The origin of envelopes that are joined from pieces. The gate sets the ids under which they are recorded."""
        return EnvelopeOrigin(self._call.run_id, self._call.node_id, "pieces", 0, self.context.started_at, "trusted")

    def begin(self) -> None:
        """Forget the envelopes of an answer that is not used."""
        self.checked, self._kinds_by_id = [], {}

    def check(self, answer: ModelAnswer, document: Any | Invalid) -> list[Violation]:
        """Check an envelope of the answer, and keep it for `send` if there are no violations."""
        if isinstance(document, Invalid):
            return violations_of(document)
        checked = self.context.check_envelope(document, self.emission(answer))
        if isinstance(checked, Invalid):
            return violations_of(checked)
        if (conflict := check_answer_id(checked.document, self._kinds_by_id)) is not None:
            return violations_of(conflict)
        self.checked.append(checked)
        return []

    async def send(self, answer: ModelAnswer) -> Failed | None:
        """Send the checked envelopes through the gate and act on each kind; returns a failure if the node has to
        fail. Raises InterruptPending while a clarification is open."""
        for envelope in self.checked:
            outcome = await self.context.emit_envelope(envelope, self.emission(answer))
            self._sent += 1
            if (failed := failure_of(outcome)) is not None:
                return failed
            if isinstance(outcome, Gated):
                self.fragments.append(discarded_kind_text(outcome.type, outcome.allowed))
            elif isinstance(outcome, Accepted):
                await self._handle(outcome)
        return None

    async def _handle(self, accepted: Accepted) -> None:
        if accepted.type == CLARIFICATION_KIND:
            resolution = await self.context.ask(clarification_interrupt(accepted))
            self.clarified = True
            text = encode_stored(resolution.value).decode()
            fenced = wrap_untrusted(resolution.value, type="answers") if resolution.untrusted else text
            self.fragments.append(f"Answers to your questions, by id:\n{fenced}")
        elif accepted.type == SCHEMA_REQUEST_KIND:
            self._schema_requests += 1
            kind = self.context.envelope_kind(accepted.payload["envelopeType"])
            self.fragments.append(
                schema_response_text(kind.name, kind.version, kind.schema)
                if kind is not None
                else unknown_kind_text(UNIVERSAL_KINDS)
            )
        elif accepted.type == ERROR_KIND or accepted.type not in UNIVERSAL_KINDS:
            self.accepted.append(accepted)


def violations_of(outcome: Invalid) -> list[Violation]:
    """The details of an invalid envelope. The rule of a conflict is its code, because it decides how the node fails."""
    if outcome.code == CORRELATION_CONFLICT:
        return [Violation(each.instance_path, outcome.code, each.message) for each in outcome.details]
    violations = [Violation(each.instance_path, each.keyword, each.message) for each in outcome.details]
    return violations or [Violation("", outcome.code, outcome.reason)]


def failure_of(outcome: Any) -> Failed | None:
    """The failure that an outcome of the gate causes for its node."""
    failure = envelope_failure(outcome)
    return Failed(failure.code, failure.message, failure.details or None, cause=failure.cause) if failure else None
