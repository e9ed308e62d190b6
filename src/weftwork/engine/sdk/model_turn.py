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
from weftwork.protocol.envelopes.handling import clarification_interrupt, envelope_failure, surface_interrupt
from weftwork.protocol.envelopes.instructions import discarded_kind_text, schema_response_text, unknown_kind_text
from weftwork.protocol.envelopes.kinds import (
    CLARIFICATION_KIND,
    ERROR_KIND,
    SCHEMA_REQUEST_KIND,
    SURFACE_KIND,
    UNIVERSAL_KINDS,
    KindDefinition,
)
from weftwork.protocol.envelopes.outcome import Accepted, Gated, Invalid
from weftwork.protocol.envelopes.reassembly import EnvelopeOrigin, derive_envelope_id
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_object
from weftwork.protocol.models.answers import ModelAnswer
from weftwork.protocol.privacy.trust import wrap_untrusted
from weftwork.protocol.run.interrupts import Interrupt, Resolution
from weftwork.protocol.surfaces.stored import check_stored
from weftwork.protocol.surfaces.surface import has_buttons, parse_surface


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
    replies: dict[str, Resolution] = {}
    """What people answered with the surfaces that are results of the node, by the ids of their envelopes."""
    fragments: list[str] = []
    """The message to the model in its next turn."""
    _result_kind: str = ""
    """The kind of envelope that the node asked for. A surface of this kind is its result; any other is a question."""
    _asks: bool = True
    """Whether a surface with a button suspends the node."""
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
        checked = self.context.check_envelope(document, self._with_form(document, self.emission(answer)))
        if isinstance(checked, Invalid):
            return violations_of(checked)
        if breaches := self._unshown_breaches(document):
            return breaches
        if is_kind(document, CLARIFICATION_KIND) and (form := self._form) is not None:
            # The surface came first, and was checked without the questions.
            emission = msgspec.structs.replace(self.emission(answer), form_of=_asked(document))
            if isinstance(recheck := self.context.check_envelope(form.document, emission), Invalid):
                return violations_of(recheck)
        if (conflict := check_answer_id(checked.document, self._kinds_by_id)) is not None:
            return violations_of(conflict)
        self.checked.append(checked)
        return []

    def _unshown_breaches(self, document: Any) -> list[Violation]:
        """The violations of a surface that the node asked for, on a host that shows none: the gate records such a
        surface without looking at its payload."""
        if self.context.renders_surfaces or self._result_kind != SURFACE_KIND or not is_kind(document, SURFACE_KIND):
            return []
        breaches = check_stored(document.get("payload")).diagnostics
        return [Violation(f"/payload{each.pointer}", each.rule, each.message) for each in breaches]

    async def send(self, answer: ModelAnswer) -> Failed | None:
        """Send the checked envelopes through the gate and act on each kind; returns a failure if the node has to
        fail. Raises InterruptPending while a question is open."""
        form_id: str | None = None
        for envelope in self._in_order():
            emission = self._with_form(envelope.document, self.emission(answer))
            if is_kind(envelope.document, CLARIFICATION_KIND):
                emission = msgspec.structs.replace(emission, form=form_id)
            outcome = await self.context.emit_envelope(envelope, emission)
            self._sent += 1
            if (failed := failure_of(outcome)) is not None:
                return failed
            if isinstance(outcome, Gated) and outcome.payload is not None and outcome.type == self._result_kind:
                # surf-37: this host shows no envelopes of the kind that the node asked for, and has recorded it.
                self.accepted.append(_unshown(outcome))
            elif isinstance(outcome, Gated):
                self.fragments.append(discarded_kind_text(outcome.type, outcome.allowed))
            elif isinstance(outcome, Accepted):
                if emission.form_of is not None:
                    form_id = outcome.envelope_id
                else:
                    await self._handle(outcome)
        return None

    @property
    def _form(self) -> CheckedEnvelope | None:
        """surf-11 (RFC 0102): the surface that came with a clarification, which is the form of its questions."""
        forms = (each for each in self.checked if is_kind(each.document, SURFACE_KIND))
        return next((each for each in forms if has_buttons(each.document["payload"])), None)

    def _with_form(self, document: Any, emission: Emission) -> Emission:
        emission = msgspec.structs.replace(emission, asks=self._asks)
        if not is_kind(document, SURFACE_KIND) or not has_buttons(document.get("payload")):
            return emission
        questions = [each.document for each in self.checked if is_kind(each.document, CLARIFICATION_KIND)]
        return msgspec.structs.replace(emission, form_of=_asked(questions[0])) if questions else emission

    def _in_order(self) -> list[CheckedEnvelope]:
        """The envelopes as the model sent them, but a form before the questions that it is the form of."""
        form = self._form
        if form is None or not any(is_kind(each.document, CLARIFICATION_KIND) for each in self.checked):
            return self.checked
        return [form, *(each for each in self.checked if each is not form)]

    async def _handle(self, accepted: Accepted) -> None:
        if accepted.type == CLARIFICATION_KIND:
            resolution = await self.context.ask(clarification_interrupt(accepted))
            self._tell_answer("Answers to your questions, by id", resolution)
        elif accepted.type == SURFACE_KIND:
            interrupt = surface_interrupt(accepted, parse_surface(accepted.payload)) if self._asks else None
            resolution = None if interrupt is None else await self.context.ask(interrupt)
            if resolution is not None and self._result_kind != SURFACE_KIND:
                self._tell_answer("The answer to your form: the pressed button and the values by field id", resolution)
            elif resolution is not None:
                self.replies[accepted.envelope_id] = resolution
            self.accepted.append(accepted)
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

    def _tell_answer(self, title: str, resolution: Resolution) -> None:
        self.clarified = True
        text = encode_stored(resolution.value).decode()
        fenced = wrap_untrusted(resolution.value, type="answers") if resolution.untrusted else text
        self.fragments.append(f"{title}:\n{fenced}")


def _unshown(outcome: Gated) -> Accepted:
    """surf-37 (RFC 0102, degradation): the result of a node whose envelope is recorded and not shown."""
    name = derive_envelope_id(outcome.correlation_id)
    return Accepted(outcome.type, name, outcome.correlation_id, outcome.payload, outcome.content_trust)


def is_kind(document: Any, kind: str) -> bool:
    return is_object(document) and document.get("type") == kind


def _asked(document: dict[str, Any]) -> Interrupt:
    """The interrupt of a clarification that the gate has not accepted yet, as far as a form needs it."""
    return Interrupt("clarification", "questions", {"questions": document["payload"]["questions"]})


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
