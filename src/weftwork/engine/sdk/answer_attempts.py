"""Calls a model until its answer can be used, within the limits of retries.

A refusal is not retried. An answer that was cut off is retried with a higher token limit and the same messages. An
answer that does not match is retried with a correction written by the host. Sources: RFC 0032, RFC 0033.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from weftwork.ports.models import Message, ModelRequest
from weftwork.ports.node_outcome import AppendLog, EmitEvent, Failed
from weftwork.ports.nodes import NodeContext
from weftwork.protocol.envelopes.checks import CORRELATION_CONFLICT, INVALID_PAYLOAD
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
from weftwork.protocol.envelopes.instructions import violation_summary
from weftwork.protocol.envelopes.text.extraction import Extraction
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.limits import Limits
from weftwork.protocol.models.answers import ModelAnswer
from weftwork.protocol.run.model_payloads import EnvelopeRecoveryApplied
from weftwork.protocol.run.payloads import CapBreached

REFUSAL_MESSAGE: Final = "The model refused to answer."

Judgement = CompleteAnswer | RefusedAnswer | TruncatedAnswer | MismatchedAnswer


class AnswerSpec(msgspec.Struct, frozen=True):
    """The expected answer of a model, and the functions that read and check it."""

    name: str
    """The name of the envelope kind or of the value's shape."""
    read: Callable[[str], Extraction | None]
    check: Callable[[ModelAnswer, Any], Sequence[Violation]]
    corrective: Callable[[MismatchedAnswer], str]
    schema: dict[str, Any]
    coercion: str
    """The instruction for a model that answered in prose, sent once; empty if the model gets none."""


class AnswerAttempts:
    """The attempts at one answer. The course depends only on the answers, so it is the same when they come from their
    records."""

    def __init__(self, context: NodeContext, node_id: str, spec: AnswerSpec, used: int = 0, calls: int = 0) -> None:
        """`used` is the number of earlier rounds for the same envelope, and `calls` that of earlier model calls."""
        self._context = context
        self._node_id = node_id
        self._spec = spec
        limits = context.limits
        self._allowed = attempts_allowed(max(limits.schema_rounds - used, 0), limits.max_retry_attempts)
        self._last: tuple[ModelAnswer, Judgement] | None = None
        """The last answer and its judgement, which is needed twice."""
        self._earlier_calls = calls
        self.retries = 0

    async def ask(self, request: ModelRequest) -> tuple[CompleteAnswer, ModelAnswer] | Failed:
        """The first usable answer, or the failure after the last attempt."""
        next_request, is_coercion = request, False
        while True:
            attempt = self.retries + 1
            answer = await self._context.generate(
                next_request, partial(self._events_of_answer, request, attempt, is_coercion)
            )
            judged = self._judge(answer)
            if isinstance(judged, CompleteAnswer):
                return judged, answer
            if isinstance(judged, RefusedAnswer):
                return Failed("envelope_refusal", REFUSAL_MESSAGE, retryable=False)
            if is_coercion or not self._may_retry(judged, attempt):
                if not is_coercion and self._may_coerce(judged):
                    messages = (*request.messages, Message("assistant", answer.text))
                    coerced = msgspec.structs.replace(request, messages=messages)
                    next_request, is_coercion = (
                        with_instruction(coerced, self._spec.coercion, next_request.max_tokens),
                        True,
                    )
                    continue
                # rel-06: `maxRetryAttempts` does not limit the call that converts prose, so it does not count here.
                return self._out_of_attempts(judged, self._earlier_calls + attempt)
            self.retries += 1
            if isinstance(judged, TruncatedAnswer):
                # Without a correction: the answer was cut off by the token limit, not by a mistake.
                budget = next_budget(next_request.max_tokens, TRUNCATION_MULTIPLIER, None)
                next_request = msgspec.structs.replace(request, max_tokens=budget)
            else:
                next_request = with_instruction(request, self._spec.corrective(judged), next_request.max_tokens)

    def _judge(self, answer: ModelAnswer) -> Judgement:
        spec = self._spec
        if self._last is None or self._last[0] != answer:
            self._last = answer, judge_answer(answer, spec.read, lambda each: spec.check(answer, each), spec.schema)
        return self._last[1]

    def _may_retry(self, judged: Judgement, attempt: int) -> bool:
        return attempt < self._allowed

    def _may_coerce(self, judged: Judgement) -> bool:
        return isinstance(judged, MismatchedAnswer) and judged.is_prose and bool(self._spec.coercion)

    def _events_of_answer(
        self, request: ModelRequest, attempt: int, is_coercion: bool, answer: ModelAnswer
    ) -> tuple[EmitEvent | AppendLog, ...]:
        """rel-20 (RFC 0032 B): the events about an answer, committed together with it, so that they are recorded
        once."""
        node_id, judged = self._node_id, self._judge(answer)
        retries = not is_coercion and self._may_retry(judged, attempt)
        events: list[EmitEvent] = []
        match judged:
            case CompleteAnswer(path=path, offset=offset):
                if path != "direct":
                    events.append(EmitEvent.of(EnvelopeRecoveryApplied(node_id, path, offset)))
            case RefusedAnswer(text=text, category=category):
                prompts = [request.system, *(message.text for message in request.messages)]
                refusal = refusal_event(node_id, answer.provider, answer.model, text, category, prompts)
                events.append(EmitEvent.of(refusal))
            case TruncatedAnswer():
                events.append(EmitEvent.of(truncated_event(node_id, answer, judged)))
                if retries:
                    events.append(EmitEvent.of(retry_attempted_event(node_id, attempt + 1, "truncation", None)))
            case MismatchedAnswer(reason=reason, error=error):
                if retries:
                    events.append(EmitEvent.of(retry_attempted_event(node_id, attempt + 1, reason, error)))
                elif not is_coercion and self._may_coerce(judged):
                    events.append(EmitEvent.of(nl_to_format_event(node_id, self._spec.name)))
        return tuple(events)

    def _out_of_attempts(self, judged: TruncatedAnswer | MismatchedAnswer, total: int) -> Failed:
        limits = self._context.limits
        if isinstance(judged, MismatchedAnswer):
            return attempts_exhausted(self._node_id, limits, total, judged.violations, judged.reason, judged.error)
        effects = _exhausted_events(self._node_id, limits, total, "truncation", None)
        message = "The answer of the model was cut off in every attempt, although the token limit was raised."
        return Failed("envelope_truncation_unrecoverable", message, retryable=False, effects=effects)


def attempts_exhausted(
    node_id: str,
    limits: Limits,
    total: int,
    violations: Sequence[Violation],
    reason: str = "schema-violation",
    error: str | None = None,
) -> Failed:
    """The failure of a node whose model has sent no usable answer in `total` calls."""
    error = violation_summary(violations) if error is None else error
    is_conflict = any(each.rule == CORRELATION_CONFLICT for each in violations)
    code = CORRELATION_CONFLICT if is_conflict else INVALID_PAYLOAD
    effects = _exhausted_events(node_id, limits, total, reason, error)
    return Failed(code, f"No answer of the model could be used: {error}", {"attempts": total}, effects=effects)


def _exhausted_events(
    node_id: str, limits: Limits, total: int, reason: str, error: str | None
) -> tuple[EmitEvent, EmitEvent]:
    """rel-21 (RFC 0032 B.2, RFC 0033): envelope.retry.exhausted and cap.breached precede the node's failure."""
    rounds = limits.schema_rounds
    exhausted = retry_exhausted_event(node_id, total, reason, error)
    return EmitEvent.of(exhausted), EmitEvent.of(CapBreached("schema", rounds, max(total, rounds + 1), node_id))


def with_instruction(request: ModelRequest, fragment: str, max_tokens: int | None) -> ModelRequest:
    """The request with `fragment` at the end of its system prompt, and this token limit."""
    return msgspec.structs.replace(request, system=f"{request.system}\n\n{fragment}".strip(), max_tokens=max_tokens)
