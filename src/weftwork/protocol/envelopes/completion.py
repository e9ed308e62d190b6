"""Completion: whether a model's answer is whole and fit, and if not, what is to be done. Pure.

Theory (RFC 0032, RFC 0033). Asked in this order: was it refused, was it cut off, can it be read, does it fit. Each has
its own remedy, and the wrong remedy does harm: a refusal is final, since asking again in other words would be a search
for a way round it; what was cut off gets more room and no correction; what does not fit gets a correction and no more
room. An answer is complete only if it ended by itself and fits.

A refusal often quotes what it objects to, and would carry a prompt, with whatever was put into it, to every reader of
the log; so what it repeats of the prompt is taken out of it. Letters are compared without regard to case, and any
stretch of spaces counts as one, because a quotation changes both. A refusal is short, so its own stretches are what is
looked up while the prompts go by once.
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
from weftwork.protocol.run import model_payloads as events

TruncationReason = Literal["max_tokens", "length", "stop_sequence", "unknown"]
MismatchReason = Literal["schema-violation", "parse-error", "type-drift", "type-mismatch", "unknown"]

TRUNCATION_MULTIPLIER: Final = 2
DEFAULT_BUDGET: Final = 4_096
"""Tokens that an answer is taken to have been given when nobody said."""
MAX_VIOLATIONS: Final = 50
"""That are looked for in one answer."""
RELIABILITY_EVENTS: Final = tuple(
    "envelope.retry.attempted envelope.retry.exhausted envelope.refusal envelope.truncated envelope.nlToFormat.engaged "
    "envelope.recovery.applied".split()
)
"""rel-13 (RFC 0032): the events that tell how an answer came to be."""
UNREADABLE_ANSWER: Final = "The answer could not be read as JSON."


class CompleteAnswer(msgspec.Struct, frozen=True):
    """The answer ended by itself, and every document in it fits."""

    documents: tuple[Any, ...]
    path: ExtractionPath
    offset: int | None


class RefusedAnswer(msgspec.Struct, frozen=True):
    """The provider, or the model, would not answer. Never tried again."""

    text: str | None
    """What it said. Not for messages; for events only through `refusal_event`."""
    category: str | None


class TruncatedAnswer(msgspec.Struct, frozen=True):
    stop_reason: TruncationReason
    partial: bool
    """Whether a whole document stands in what came."""
    output_tokens: int | None


class MismatchedAnswer(msgspec.Struct, frozen=True):
    """The answer is whole, but not what was asked for."""

    reason: MismatchReason
    error: str
    """In words of the host, with nothing of the answer in them."""
    violations: tuple[Violation, ...]
    is_prose: bool


Judgement = CompleteAnswer | RefusedAnswer | TruncatedAnswer | MismatchedAnswer


def judge_answer(
    answer: ModelAnswer,
    read: Callable[[str], Extraction | None],
    check: Callable[[Any], Sequence[Violation]],
    schema: dict[str, Any] | None = None,
) -> Judgement:
    """rel-05 (RFC 0033 A, D): what an answer is.

    `read` is called only for an answer that ended by itself, so it may close brackets. `check` judges one document.
    The members that `schema` declares can be named in the error; without it, no member of a payload is.
    """
    if answer.stop == "content-filter" or answer.refusal is not None:
        return RefusedAnswer(answer.refusal, answer.safety_category)
    if answer.stop in ("length", "other") and not _ended_at_stop_sequence(answer):
        return _truncated_answer(answer)
    judged = _judge_content(answer, read, check, schema)
    # Where a stop sequence ended it, only what fits as it stands shows that nothing is missing.
    fits = isinstance(judged, CompleteAnswer) and judged.path != "jsonrepair"
    return judged if fits or not _ended_at_stop_sequence(answer) else _truncated_answer(answer)


def _ended_at_stop_sequence(answer: ModelAnswer) -> bool:
    return answer.detail == "stop_sequence" and answer.stop in ("stop", "other")


def _judge_content(
    answer: ModelAnswer,
    read: Callable[[str], Extraction | None],
    check: Callable[[Any], Sequence[Violation]],
    schema: dict[str, Any] | None,
) -> CompleteAnswer | MismatchedAnswer:
    found = read(answer.text)
    if found is None:
        return MismatchedAnswer("parse-error", UNREADABLE_ANSWER, (), is_prose(answer.text))
    violations = tuple(islice((each for document in found.documents for each in check(document)), MAX_VIOLATIONS))
    if not violations:
        return CompleteAnswer(found.documents, found.path, found.offset)
    return MismatchedAnswer(
        "schema-violation", violation_summary(violations, schema), violations, is_prose(answer.text)
    )


def _truncated_answer(answer: ModelAnswer) -> TruncatedAnswer:
    # Providers say length or max_tokens for the same thing: the budget that the host gave was used up.
    ended = "stop_sequence" if answer.detail == "stop_sequence" else "unknown"
    reason: TruncationReason = "max_tokens" if answer.stop == "length" else ended
    tokens = answer.usage.output_tokens
    return TruncatedAnswer(reason, holds_document(answer.text), tokens if tokens > 0 else None)


def attempts_allowed(schema_rounds: int, max_retry_attempts: int) -> int:
    """rel-06 (RFC 0032, RFC 0033): how often a model may be called for one envelope, the first call counted."""
    return max(1, min(schema_rounds + 1, max_retry_attempts))


def next_budget(max_tokens: int | None, multiplier: float, ceiling: int | None) -> int | None:
    """rel-11 (RFC 0033 B): the room for the next attempt after an answer was cut off.

    None: the answer already had all the room that there is, and another attempt would be cut off as well.
    """
    if max_tokens is not None and ceiling is not None and max_tokens >= ceiling:
        return None
    larger = math.ceil((max_tokens or DEFAULT_BUDGET) * multiplier)
    return larger if ceiling is None else min(larger, ceiling)


def retry_attempted_event(node_id: str, attempt: int, reason: str, error: str | None) -> events.EnvelopeRetryAttempted:
    """rel-13: goes out before every call but the first; `attempt` is the number of the call, from 2 on."""
    return events.EnvelopeRetryAttempted(node_id, attempt, reason, UNSET if error is None else error[:MAX_ERROR])


def retry_exhausted_event(node_id: str, total: int, reason: str, error: str | None) -> events.EnvelopeRetryExhausted:
    """rel-13: goes out before the node fails, also if there was one call only."""
    return events.EnvelopeRetryExhausted(node_id, total, reason, UNSET if error is None else error[:MAX_ERROR])


def refusal_event(
    node_id: str, provider: str, model: str, text: str | None, category: str | None, prompts: Sequence[str]
) -> events.EnvelopeRefusal:
    """rel-13: what the model said is shown without what it repeats of the prompts (rel-14)."""
    return events.EnvelopeRefusal(node_id, provider, model, remove_prompt_echo(text, prompts), category)


def truncated_event(node_id: str, answer: ModelAnswer, cut: TruncatedAnswer) -> events.EnvelopeTruncated:
    """rel-13: goes out for every answer that was cut off."""
    return events.EnvelopeTruncated(
        node_id, answer.provider, answer.model, cut.stop_reason, cut.partial, cut.output_tokens
    )


def nl_to_format_event(node_id: str, kind: str) -> events.NlToFormatEngaged:
    """rel-13: goes out before the one call that puts free text into a form."""
    return events.NlToFormatEngaged(node_id, kind, 1)


def usage_event(node_id: str, answer: ModelAnswer) -> events.ProviderUsage:
    """rel-15 (RFC 0026): what a call used. Nothing of the request, the answer or a credential is in it."""
    used, produced = answer.usage.input_tokens, answer.usage.output_tokens
    return events.ProviderUsage(answer.provider, answer.model, used, produced, used + produced, node_id)


ECHO_MARKER: Final = "[REDACTED:prompt]"
MIN_QUOTATION: Final = 24
"""Characters in a row that count as a quotation. Shorter ones are words that both would use anyway."""
MIN_PROMPT: Final = 8
"""Characters of a prompt that is too short for that; it counts when all of it is repeated."""
MAX_REFUSAL: Final = 2_000
"""Characters of a refusal that are kept."""
MAX_PROMPT_CHARACTERS: Final = 131_072
"""Characters of prompts that a refusal is compared with. Of a longer one nothing is shown."""


def remove_prompt_echo(text: str | None, prompts: Sequence[str]) -> str | None:
    """rel-14 (RFC 0032 B.3): a refusal without what it repeats of the prompts; None if that cannot be told.

    Every stretch of 24 characters or more that stands in a prompt is replaced, and a whole prompt of 8 or more.
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
    """The text as it is compared, and for each character of that the one it comes from."""
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
        # A stretch is looked up once, however often the prompts repeat it.
        for index in range(len(prompt) - MIN_QUOTATION + 1):
            for start in starts.pop(prompt[index : index + MIN_QUOTATION], ()):
                yield start, start + MIN_QUOTATION


def _masked_parts(text: str, hidden: list[bool]) -> Iterable[str]:
    for index, letter in enumerate(text):
        if not hidden[index]:
            yield letter
        elif index == 0 or not hidden[index - 1]:
            yield ECHO_MARKER
