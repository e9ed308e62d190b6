"""Decides whether a model's answer is complete and valid, and if not, how to retry. Pure.

Theory of operation (RFC 0032, RFC 0033). The checks run in this order: was the answer refused, was it truncated, can
it be parsed, is it valid. Each failure has its own remedy, and the wrong remedy does harm. A refusal is final, because
rephrasing the request would be an attempt to bypass it. A truncated answer is retried with a larger token budget and
without a correction. An invalid answer is retried with a correction and the same budget. An answer is complete only if
the model ended it and it is valid.

A refusal often quotes the prompt that it objects to. Recorded as it is, it would expose the prompt, and the data that
was filled into it, to every reader of the log. `remove_prompt_echo` therefore removes quotations of the prompt.
Comparison ignores case and collapses whitespace, because quotations change both. A refusal is short, so the index is
built over the refusal and each prompt is scanned once.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET

from weftwork.protocol.envelopes.instructions import MAX_ERROR, violation_summary
from weftwork.protocol.envelopes.text.extraction import Extraction, ExtractionPath, holds_document, is_prose
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.models.answers import ModelAnswer
from weftwork.protocol.models.model_catalogue import ModelPrice
from weftwork.protocol.run import model_payloads as events

TruncationReason = Literal["max_tokens", "length", "stop_sequence", "unknown"]
MismatchReason = Literal["schema-violation", "parse-error", "type-drift", "type-mismatch", "unknown"]

TRUNCATION_MULTIPLIER: Final = 2
DEFAULT_BUDGET: Final = 4_096
"""Token budget assumed for a request that sets none."""
MAX_VIOLATIONS: Final = 50
"""Violations collected from one answer."""
RELIABILITY_EVENTS: Final = tuple(
    "envelope.retry.attempted envelope.retry.exhausted envelope.refusal envelope.truncated envelope.nlToFormat.engaged "
    "envelope.recovery.applied".split()
)
"""rel-13 (RFC 0032): the events that record retries, refusals, truncation and repairs of an answer."""
UNREADABLE_ANSWER: Final = "The answer could not be parsed as JSON."


class CompleteAnswer(msgspec.Struct, frozen=True):
    """The model ended the answer, and every document in it is valid."""

    documents: tuple[Any, ...]
    path: ExtractionPath
    offset: int | None


class RefusedAnswer(msgspec.Struct, frozen=True):
    """The provider or the model refused to answer. Never retried."""

    text: str | None
    """The text of the refusal. Never put it into messages; put it into events only through `refusal_event`."""
    category: str | None


class TruncatedAnswer(msgspec.Struct, frozen=True):
    stop_reason: TruncationReason
    partial: bool
    """Whether the received text contains a complete document."""
    output_tokens: int | None


class MismatchedAnswer(msgspec.Struct, frozen=True):
    """The answer is complete but cannot be parsed or does not match the schema."""

    reason: MismatchReason
    error: str
    """A description written by the host. It contains no text of the answer."""
    violations: tuple[Violation, ...]
    is_prose: bool


Judgement = CompleteAnswer | RefusedAnswer | TruncatedAnswer | MismatchedAnswer


def judge_answer(
    answer: ModelAnswer,
    read: Callable[[str], Extraction | None],
    check: Callable[[Any], Sequence[Violation]],
    schema: dict[str, Any] | None = None,
) -> Judgement:
    """rel-05 (RFC 0033 A, D): classify an answer as complete, refused, truncated or mismatched.

    `read` extracts documents and `check` validates one document. `read` is called only for an answer that the model
    ended, so it may add missing closing brackets. The error names only members that `schema` declares; without a
    schema it names no payload member.
    """
    if answer.stop == "content-filter" or answer.refusal is not None:
        return RefusedAnswer(answer.refusal, answer.safety_category)
    if answer.stop in ("length", "other") and not _ended_at_stop_sequence(answer):
        return _truncated_answer(answer)
    judged = _judge_content(answer, read, check, schema)
    # A stop sequence can end an answer in the middle. Only a document that is valid without repair proves that nothing
    # is missing.
    is_whole = isinstance(judged, CompleteAnswer) and judged.path != "jsonrepair"
    return judged if is_whole or not _ended_at_stop_sequence(answer) else _truncated_answer(answer)


def _ended_at_stop_sequence(answer: ModelAnswer) -> bool:
    return answer.detail == "stop_sequence" and answer.stop in ("stop", "other")


def _judge_content(
    answer: ModelAnswer,
    read: Callable[[str], Extraction | None],
    check: Callable[[Any], Sequence[Violation]],
    schema: dict[str, Any] | None,
) -> CompleteAnswer | MismatchedAnswer:
    extraction = read(answer.text)
    if extraction is None:
        return MismatchedAnswer("parse-error", UNREADABLE_ANSWER, (), is_prose(answer.text))
    violations = tuple(islice((each for document in extraction.documents for each in check(document)), MAX_VIOLATIONS))
    if not violations:
        return CompleteAnswer(extraction.documents, extraction.path, extraction.offset)
    return MismatchedAnswer(
        "schema-violation", violation_summary(violations, schema), violations, is_prose(answer.text)
    )


def _truncated_answer(answer: ModelAnswer) -> TruncatedAnswer:
    # Some providers report `length`, some `max_tokens`; both mean that the host's token budget was used up.
    other_reason = "stop_sequence" if answer.detail == "stop_sequence" else "unknown"
    reason: TruncationReason = "max_tokens" if answer.stop == "length" else other_reason
    tokens = answer.usage.output_tokens
    return TruncatedAnswer(reason, holds_document(answer.text), tokens if tokens > 0 else None)


def attempts_allowed(schema_rounds: int, max_retry_attempts: int) -> int:
    """rel-06 (RFC 0032, RFC 0033): the maximum number of model calls for one envelope, including the first."""
    return max(1, min(schema_rounds + 1, max_retry_attempts))


def next_budget(max_tokens: int | None, multiplier: float, ceiling: int | None) -> int | None:
    """rel-11 (RFC 0033 B): the token budget of the next attempt after a truncated answer.

    None if the answer already had the largest budget, so that another attempt would be truncated as well.
    """
    if max_tokens is not None and ceiling is not None and max_tokens >= ceiling:
        return None
    larger = math.ceil((max_tokens or DEFAULT_BUDGET) * multiplier)
    return larger if ceiling is None else min(larger, ceiling)


def retry_attempted_event(node_id: str, attempt: int, reason: str, error: str | None) -> events.EnvelopeRetryAttempted:
    """rel-13: recorded before every call except the first. `attempt` is the number of the call, starting at 2."""
    return events.EnvelopeRetryAttempted(node_id, attempt, reason, UNSET if error is None else error[:MAX_ERROR])


def retry_exhausted_event(node_id: str, total: int, reason: str, error: str | None) -> events.EnvelopeRetryExhausted:
    """rel-13: recorded before the node fails, even if there was only one call."""
    return events.EnvelopeRetryExhausted(node_id, total, reason, UNSET if error is None else error[:MAX_ERROR])


def refusal_event(
    node_id: str, provider: str, model: str, text: str | None, category: str | None, prompts: Sequence[str]
) -> events.EnvelopeRefusal:
    """rel-13: the text of the refusal is recorded without its quotations of the prompts (rel-14)."""
    return events.EnvelopeRefusal(node_id, provider, model, remove_prompt_echo(text, prompts), category)


def truncated_event(node_id: str, answer: ModelAnswer, cut: TruncatedAnswer) -> events.EnvelopeTruncated:
    """rel-13: recorded for every truncated answer."""
    return events.EnvelopeTruncated(
        node_id, answer.provider, answer.model, cut.stop_reason, cut.partial, cut.output_tokens
    )


def nl_to_format_event(node_id: str, kind: str) -> events.NlToFormatEngaged:
    """rel-13: recorded before the single call that converts free text to the schema."""
    return events.NlToFormatEngaged(node_id, kind, 1)


def usage_event(node_id: str, answer: ModelAnswer, price: ModelPrice | None = None) -> events.ProviderUsage:
    """rel-15 (RFC 0026): the token usage of a call, and its cost if the price of the model is known. Contains nothing
    of the request, the answer or a credential."""
    input_tokens, output_tokens = answer.usage.input_tokens, answer.usage.output_tokens
    cached = answer.usage.cache_read_tokens
    return events.ProviderUsage(
        answer.provider,
        answer.model,
        input_tokens,
        output_tokens,
        input_tokens + output_tokens,
        node_id,
        cached or UNSET,
        UNSET if price is None else price.cost(input_tokens, output_tokens, cached),
    )


ECHO_MARKER: Final = "[REDACTED:prompt]"
MIN_QUOTATION: Final = 24
"""Shortest run of characters that counts as a quotation. Shorter matches are common phrases."""
MIN_PROMPT: Final = 8
"""Shortest prompt that is removed when all of it is repeated. Applies to prompts shorter than MIN_QUOTATION."""
MAX_REFUSAL: Final = 2_000
"""Characters of a refusal that are kept."""
MAX_PROMPT_CHARACTERS: Final = 131_072
"""Total characters of prompts that a refusal is compared with. With more, the refusal's text is dropped."""


def remove_prompt_echo(text: str | None, prompts: Sequence[str]) -> str | None:
    """rel-14 (RFC 0032 B.3): the refusal without its quotations of the prompts.

    Replaces every run of 24 or more characters that also occurs in a prompt, and every repetition of a whole prompt of
    8 or more characters. None if there is no text, or if the prompts exceed `MAX_PROMPT_CHARACTERS`.
    """
    if text is None or sum(map(len, prompts)) > MAX_PROMPT_CHARACTERS:
        return None
    text = text[:MAX_REFUSAL]
    folded, origin = _fold(text)
    hidden = [False] * len(text)
    for start, end in _find_quotations(folded, {" ".join(each.casefold().split()) for each in prompts}):
        for index in range(origin[start], origin[end - 1] + 1):
            hidden[index] = True
    return "".join(_masked_parts(text, hidden))


def _fold(text: str) -> tuple[str, list[int]]:
    """The text normalised for comparison, and for each of its characters the index in the original text."""
    letters: list[str] = []
    origin: list[int] = []
    for index, letter in enumerate(text):
        folded = " " if letter.isspace() else letter.casefold()
        if folded == " " and letters[-1:] == [" "]:
            continue
        letters.extend(folded)
        origin.extend([index] * len(folded))
    return "".join(letters), origin


def _find_quotations(folded: str, prompts: Iterable[str]) -> Iterable[tuple[int, int]]:
    starts: dict[str, list[int]] = {}
    for index in range(len(folded) - MIN_QUOTATION + 1):
        starts.setdefault(folded[index : index + MIN_QUOTATION], []).append(index)
    for prompt in prompts:
        if MIN_PROMPT <= len(prompt) < MIN_QUOTATION:
            at = folded.find(prompt)
            while at >= 0:
                yield at, at + len(prompt)
                at = folded.find(prompt, at + len(prompt))
        # `pop` reports each run once, even if the prompts repeat it.
        for index in range(len(prompt) - MIN_QUOTATION + 1):
            for start in starts.pop(prompt[index : index + MIN_QUOTATION], ()):
                yield start, start + MIN_QUOTATION


def _masked_parts(text: str, hidden: list[bool]) -> Iterable[str]:
    for index, letter in enumerate(text):
        if not hidden[index]:
            yield letter
        elif index == 0 or not hidden[index - 1]:
            yield ECHO_MARKER
