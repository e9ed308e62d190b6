"""A host that does not hide what models repeat, so that a proof can show that it would notice."""

import logging
from typing import Any

from weftwork.engine.api import runs
from weftwork.engine.models import model_calls
from weftwork.engine.run import append
from weftwork.protocol.privacy import value_paths
from weftwork.protocol.privacy.questions import QuestionMatcher
from weftwork.protocol.privacy.secret_matcher import HoldBack, SecretMatcher


def disable_secret_matching() -> None:
    SecretMatcher.is_absent = lambda self, value: True  # type: ignore[method-assign]
    SecretMatcher.is_absent_in_json = lambda self, encoded: True  # type: ignore[method-assign]
    generate = model_calls.EntryModelCalls.generate

    async def chatty(self: Any, request: Any, along: Any) -> Any:
        answer = await generate(self, request, along)
        logging.getLogger("weftwork.node").warning("%s %s", answer.text, answer.refusal)
        return answer

    model_calls.EntryModelCalls.generate = chatty  # type: ignore[method-assign]


def disable_hold_back() -> None:
    HoldBack.release = lambda self, piece, last=False: piece  # type: ignore[method-assign]


def hide_questions_whole() -> None:
    value_paths.QUESTION_KINDS = frozenset()  # type: ignore[misc]


def cut_long_texts_only() -> None:
    QuestionMatcher.learn_value = SecretMatcher.learn_value  # type: ignore[method-assign]


def ignore_credentials_in_inputs() -> None:
    runs.may_hold_credential = lambda encoded: False  # type: ignore[attr-defined]


def ignore_credentials_in_answers() -> None:
    append.SENT_KINDS = frozenset()  # type: ignore[attr-defined]
