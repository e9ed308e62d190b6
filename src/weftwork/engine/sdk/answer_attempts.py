"""Calls a model until its answer can be used, as often and in the way that the kind of failure allows.

A refusal is not retried. An answer that was cut off is retried with a higher token limit and the same messages. An
answer that does not fit is retried with a correction written by the host. Sources: RFC 0032, RFC 0033.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from weftwork.ports.models import Message, ModelRequest
from weftwork.ports.node_outcome import AppendLog, EmitEvent, Failed
from weftwork.ports.nodes import NodeContext
from weftwork.protocol.envelopes.completion import (
    TRUNCATION_MULTIPLIER,
    CompleteAnswer,
    MismatchedAnswer,
    RefusedAnswer,
    TruncatedAnswer,
    attempts_allowed,
    judge_answer,
    next_budget,
    nl_to_format_event,
    refusal_event,
    retry_attempted_event,
    retry_exhausted_event,
    truncated_event,
)
from weftwork.protocol.envelopes.text.extraction import Extraction
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.models.answers import ModelAnswer
from weftwork.protocol.run.model_payloads import EnvelopeRecoveryApplied
from weftwork.protocol.run.payloads import CapBreached

REFUSAL_MESSAGE: Final = "The model refused to answer."

Judgement = CompleteAnswer | RefusedAnswer | TruncatedAnswer | MismatchedAnswer


class AnswerSpec(msgspec.Struct, frozen=True):
    """What is wanted of a model, and how an answer is read."""

    name: str
    """Of the kind, or of the shape."""
    read: Callable[[str], Extraction | None]
    check: Callable[[ModelAnswer, Any], Sequence[Violation]]
    corrective: Callable[[MismatchedAnswer], str]
    schema: dict[str, Any]
    coercion: str
    """What a model is told once that answers in plain words; empty: it is not asked for that."""


class AnswerAttempts:
    """The attempts at one answer. Everything follows from the answers, so it comes out the same when they are read
    from their records."""

    def __init__(self, context: NodeContext, node_id: str, wish: AnswerSpec, used: int = 0) -> None:
        """`used`: rounds that went before, for the same envelope."""
        self._context = context
        self._node_id = node_id
        self._spec = wish
        limits = context.limits
        self._allowed = attempts_allowed(max(limits.schema_rounds - used, 0), limits.max_retry_attempts)
        self._last: tuple[ModelAnswer, Judgement] | None = None
        """The judgement of the last answer, which is asked for twice."""
        self.retries = 0

    async def ask(self, request: ModelRequest) -> tuple[CompleteAnswer, ModelAnswer] | Failed:
        """The first answer that can be used, or why there is none."""
        asked, coerces = request, False
        while True:
            attempt = self.retries + 1
            answer = await self._context.generate(asked, partial(self._events_of_answer, request, attempt, coerces))
            judged = self._judge(answer)
            if isinstance(judged, CompleteAnswer):
                return judged, answer
            if isinstance(judged, RefusedAnswer):
                return Failed("envelope_refusal", REFUSAL_MESSAGE, retryable=False)
            if coerces or not self._may_retry(judged, attempt):
                if not coerces and self._may_coerce(judged):
                    said = (*request.messages, Message("assistant", answer.text))
                    coerced = msgspec.structs.replace(request, messages=said)
                    asked, coerces = _with_instruction(coerced, self._spec.coercion, asked.max_tokens), True
                    continue
                return self._out_of_attempts(judged, attempt + coerces)
            self.retries += 1
            if isinstance(judged, TruncatedAnswer):
                # No word about what went before: it would not have been cut off for want of one.
                budget = next_budget(asked.max_tokens, TRUNCATION_MULTIPLIER, None)
                asked = msgspec.structs.replace(request, max_tokens=budget)
            else:
                asked = _with_instruction(request, self._spec.corrective(judged), asked.max_tokens)

    def _judge(self, answer: ModelAnswer) -> Judgement:
        wish = self._spec
        if self._last is None or self._last[0] != answer:
            self._last = answer, judge_answer(answer, wish.read, lambda each: wish.check(answer, each), wish.schema)
        return self._last[1]

    def _may_retry(self, judged: Judgement, attempt: int) -> bool:
        return attempt < self._allowed

    def _may_coerce(self, judged: Judgement) -> bool:
        return isinstance(judged, MismatchedAnswer) and judged.is_prose and bool(self._spec.coercion)

    def _events_of_answer(
        self, request: ModelRequest, attempt: int, coerces: bool, answer: ModelAnswer
    ) -> tuple[EmitEvent | AppendLog, ...]:
        """rel-20 (RFC 0032 B): what the log says of an answer, in one commit with it; so nothing is said twice."""
        node_id, judged = self._node_id, self._judge(answer)
        goes_on = not coerces and self._may_retry(judged, attempt)
        events: list[EmitEvent] = []
        match judged:
            case CompleteAnswer(path=path, offset=offset):
                if path != "direct":
                    events.append(EmitEvent.of(EnvelopeRecoveryApplied(node_id, path, offset)))
            case RefusedAnswer(text=text, category=category):
                prompts = [request.system, *(message.text for message in request.messages)]
                said = refusal_event(node_id, answer.provider, answer.model, text, category, prompts)
                events.append(EmitEvent.of(said))
            case TruncatedAnswer():
                events.append(EmitEvent.of(truncated_event(node_id, answer, judged)))
                if goes_on:
                    events.append(EmitEvent.of(retry_attempted_event(node_id, attempt + 1, "truncation", None)))
            case MismatchedAnswer(reason=reason, error=error):
                if goes_on:
                    events.append(EmitEvent.of(retry_attempted_event(node_id, attempt + 1, reason, error)))
                elif not coerces and self._may_coerce(judged):
                    events.append(EmitEvent.of(nl_to_format_event(node_id, self._spec.name)))
        return tuple(events)

    def _out_of_attempts(self, judged: TruncatedAnswer | MismatchedAnswer, total: int) -> Failed:
        """rel-21 (RFC 0032 B.2, RFC 0033): the end of all attempts is said before the node fails."""
        rounds = self._context.limits.schema_rounds
        reason, error = ("truncation", None) if isinstance(judged, TruncatedAnswer) else (judged.reason, judged.error)
        effects = (
            EmitEvent.of(retry_exhausted_event(self._node_id, total, reason, error)),
            EmitEvent.of(CapBreached("schema", rounds, max(total, rounds + 1), self._node_id)),
        )
        if isinstance(judged, TruncatedAnswer):
            message = "The answer of the model was cut off each time, however much room it had."
            return Failed("envelope_truncation_unrecoverable", message, retryable=False, effects=effects)
        message = f"No answer of the model could be used: {judged.error}"
        return Failed("envelope_invalid", message, {"attempts": total}, effects=effects)


def _with_instruction(request: ModelRequest, fragment: str, max_tokens: int | None) -> ModelRequest:
    """The request with a word of the host at the end of its instructions, and no more room than before."""
    return msgspec.structs.replace(request, system=f"{request.system}\n\n{fragment}".strip(), max_tokens=max_tokens)
