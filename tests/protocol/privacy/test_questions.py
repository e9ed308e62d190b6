"""Questions of nodes that read sensitive values: the values are cut out, and what is left decides whether to ask."""

from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without
from weftwork.protocol.media.message_parts import with_usable_media
from weftwork.protocol.privacy import questions
from weftwork.protocol.privacy.questions import MAX_QUESTION_VALUES, MAX_WORDS, QuestionMatcher, is_answerable
from weftwork.protocol.privacy.secret_matcher import MAX_VALUES


def matcher(value: Any, marker: str = "[REDACTED:s]") -> QuestionMatcher:
    made = QuestionMatcher()
    made.learn_value(marker, value)
    return made


@pytest.mark.rule("hide-07")
@each_case(
    "secret, text, shown",
    ("kestrel", "Is kestrel it?", "Is [REDACTED:s] it?"),
    ("kes", "Is kes a kestrel?", "Is [REDACTED:s] a kestrel?"),
    (907, "907, not 9071 or a907", "[REDACTED:s], not 9071 or a907"),
    (51051, "51051.", "[REDACTED:s]."),
    (0.25, "0.25?", "[REDACTED:s]?"),
    ({"a": ["kestrel", 12]}, "12 kestrels", "[REDACTED:s] [REDACTED:s]s"),
    ("s", "s and [REDACTED:s]", "[REDACTED:s] and [REDACTED:s]"),
    (True, "True, true", "True, true"),
    (" ", "a b", "a b"),
)
def test_a_known_value_is_cut_out_of_a_text(secret: Any, text: str, shown: str) -> None:
    made = matcher(secret)
    assert made.mask(text) == shown
    assert made.is_absent([text]) == (text == shown)


@pytest.mark.rule("hide-07")
def test_numbers_and_equal_parts_are_found_as_a_whole() -> None:
    made = matcher({"holder": [5105105100], "flag": True})
    assert made.whole_marker([5105105100]) == made.whole_marker(5105105100) == "[REDACTED:s]"
    assert made.whole_marker({"holder": [5105105100], "flag": True}) == "[REDACTED:s]"
    assert [made.whole_marker(each) for each in (True, "holder", None, [1], {}, 7)] == [None] * 6
    assert not made.is_absent({"deep": [{"n": 5105105100}]})


@pytest.mark.rule("hide-07")
@each_case(
    "value",
    [f"text-{at}" for at in range(MAX_QUESTION_VALUES)],
    [str(at) for at in range(MAX_WORDS + 1)],
    [[[at] for at in range(64)] for _ in range(MAX_VALUES // 64)],
)
def test_a_matcher_that_cannot_know_all_values_says_so(value: list[Any]) -> None:
    assert matcher(value).is_full
    assert not matcher(value[:2][0][:2]).is_full


@pytest.mark.rule("hide-07")
@fails_without(questions, "_SENSITIVE_MARKER", questions._READABLE)
@each_case(
    "kind, data, expected",
    ("clarification", {"questions": [{"id": "q", "question": "Is [REDACTED:s] it?"}]}, True),
    ("clarification", {"questions": [{"id": "q", "question": "[REDACTED:s]?"}]}, False),
    ("clarification", {"questions": [{"id": "a", "question": "Yes?"}, {"id": "b", "question": "[REDACTED:s]"}]}, False),
    ("clarification", {"questions": [{"id": "q", "question": "?"}]}, True),
    ("clarification", {"questions": [{"id": "q", "question": "[REDACTED:credential]"}]}, True),
    ("approval", {"title": "[REDACTED:s]", "artifactId": "a", "artifactType": "b", "actions": ["accept"]}, False),
    ("approval", {"title": "[REDACTED:s]", "description": "Pay?", "artifactId": "a", "artifactType": "b"}, True),
    ("custom", {"customKind": "k", "payload": {"a": ["[REDACTED:s]", 1]}}, False),
    ("custom", {"customKind": "k", "payload": {"a": 1}}, True),
    ("conversation.exchange", {"conversationId": "c", "prompt": "[REDACTED:s] [REDACTED:t]"}, False),
    ("conversation.start", {"conversationId": "c", "title": "[REDACTED:s]"}, True),
    ("external-event", {"eventType": "[REDACTED:s]", "correlation": {}}, True),
)
def test_a_question_is_asked_only_if_something_readable_is_left(
    kind: str, data: dict[str, Any], expected: bool
) -> None:
    assert is_answerable(kind, data) is expected


@pytest.mark.rule("hide-08")
@each_case(
    "sent, redacted, shown",
    ({"base64": "AAAA", "mimeType": "image/png"}, {"base64": "[R]", "mimeType": "image/png"}, ("AAAA", "image/png")),
    (
        {"base64": "AAAA", "mimeType": "a/s"},
        {"base64": "AAAA", "mimeType": "a/[R]"},
        ("AAAA", "application/octet-stream"),
    ),
    ({"url": "https://x/s", "mimeType": "a/b"}, {"url": "https://x/[R]", "mimeType": "a/b"}, ("https://x/[R]", "a/b")),
)
def test_media_stay_decodable(sent: dict[str, Any], redacted: dict[str, Any], shown: tuple[str, str]) -> None:
    usable = with_usable_media(sent, {**redacted, "alt": "[R]"})
    assert (usable.get("base64", usable.get("url")), usable["mimeType"], usable["alt"]) == (*shown, "[R]")


@pytest.mark.rule("hide-07")
@fails_without(questions, "_has_choice", lambda schema: True)
@each_case(
    "schema, expected",
    (None, True),
    (True, True),
    ({"type": "string"}, True),
    ({"enum": ["[REDACTED:s]", "no"]}, True),
    ({"enum": ["[REDACTED:credential]"]}, True),
    ({"enum": ["[REDACTED:s]"]}, False),
    ({"const": "[REDACTED:s]"}, False),
    ({"enum": [{"a": ["[REDACTED:s]"]}, "I am [REDACTED:s]"]}, False),
)
def test_a_question_with_choices_is_asked_only_if_one_of_them_can_be_sent(schema: Any, expected: bool) -> None:
    question = {"id": "q", "question": "Which one?"} | ({} if schema is None else {"schema": schema})
    assert is_answerable("clarification", {"questions": [question]}) is expected
