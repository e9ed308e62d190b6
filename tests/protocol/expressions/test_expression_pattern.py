"""Patterns: what is found, and what is too much."""

import pytest

from weftwork.protocol.expressions import cel, expression
from weftwork.protocol.expressions.cost import count_states
from weftwork.protocol.expressions.expression import (
    MAX_PATTERN,
    MAX_PATTERN_STATES,
    check_pattern,
    matches,
    parse_expression,
)
from weftwork.protocol.expressions.faults import ExpressionFault

UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


@pytest.mark.rule("expr-09")
@pytest.mark.parametrize(
    ("text", "pattern", "found"),
    [
        ("order-12", "[0-9]+", True),
        ("order-12", "^[0-9]+$", False),
        ("", "", True),
        ("ORDER", "(?i)order", True),
        ("a\nb", "a.b", False),
        ("Größe", "ö", True),
        ("Größe", r"^\pL+$", True),
        ("a.b", r"\Qa.b\E", True),
        ("0f8fad5b-d9cb-469f-a165-70867728950e", f"^{UUID}$", True),
    ],
)
def test_a_pattern_is_searched_for_anywhere(text: str, pattern: str, found: bool) -> None:
    assert check_pattern(pattern) is None
    assert matches(text, pattern) is found


@pytest.mark.rule("expr-09")
@pytest.mark.parametrize("pattern", ["(", "[a", "a**", r"\1", "(?=a)", "a{1001}", "\\"])
def test_what_is_no_pattern(pattern: str) -> None:
    assert check_pattern(pattern) == "is not a valid regular expression"
    with pytest.raises(ExpressionFault) as caught:
        matches("a", pattern)
    assert caught.value.code == "expression_invalid"


@pytest.mark.rule("expr-09")
def test_the_length_of_a_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_pattern("é" * (MAX_PATTERN // 2)) is None
    assert check_pattern("é" * (MAX_PATTERN // 2) + "a") == "is longer than 1,024 bytes"
    assert check_pattern("\ud800") == "holds a lone surrogate"
    monkeypatch.setattr(expression, "MAX_PATTERN", MAX_PATTERN + 1)
    assert check_pattern("é" * (MAX_PATTERN // 2) + "a") is None


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("", 1),
        ("abc", 3),
        ("a{20}", 20),
        ("a{3,20}b", 21),
        ("a{20,}", 20),
        ("(ab){10}", 20),
        ("((a{5}){5}){5}", 125),
        ("(?:a|b){4}", 12),
        ("(?i)a{3}", 3),
        ("(?P<name>a){3}", 3),
        ("[a-z]{10}", 30),
        ("[^a-z]{10}", 60),
        ("[]a]{2}", 6),
        (r"[\]a]{2}", 6),
        ("[[:alpha:]]{2}", 6),
        (".{10}", 60),
        (r"\.{10}", 10),
        (r"\W{10}", 60),
        (r"\pL", 5_000),
        (r"\p{Greek}{2}", 10_000),
        (r"[\pL\pN]", 10_003),
        (r"\Q{9}\E", 7),
        ("a{", 2),
        ("{9}", 1),
        (")a{3}(", 3),
        (UUID, 100),
    ],
)
def test_the_states_of_a_pattern(pattern: str, count: int) -> None:
    assert count_states(pattern) == count


@pytest.mark.rule("expr-09")
def test_the_states_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern of a few bytes can take a second to prepare."""
    assert count_states(r"\pL{4}") == MAX_PATTERN_STATES
    assert check_pattern(r"\pL{4}") is None
    assert check_pattern(r"\pL{4}a") == "unfolds to too many states; use fewer repetitions and Unicode classes"
    monkeypatch.setattr(expression, "MAX_PATTERN_STATES", MAX_PATTERN_STATES + 1)
    assert check_pattern(r"\pL{4}a") is None


@pytest.mark.rule("expr-09")
def test_text_and_pattern_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linear time is a thousand steps for each character where a thousand states are alive."""
    pattern = "(a?){500}a{500}b"
    assert matches("a" * 10_000, pattern) is False
    assert matches("a" * 1_000_000, "^a*$") is True
    for over in (lambda: matches("a" * 50_000, pattern), lambda: searched("a" * 50_000, pattern)):
        with pytest.raises(ExpressionFault) as caught:
            over()
        assert caught.value.code == "expression_limit"
    monkeypatch.setattr(expression, "MAX_WORK", 10**9)
    monkeypatch.setattr(expression, "MAX_WORK", 10**9)
    monkeypatch.setattr(cel, "evaluate_program", lambda *_: pytest.fail("it started"))
    with pytest.raises(pytest.fail.Exception):
        searched("a" * 50_000, pattern)
    monkeypatch.setattr(expression, "check_pattern", lambda _: None)
    with pytest.raises(pytest.fail.Exception):
        matches("a" * 50_000, pattern)


def searched(text: str, pattern: str) -> bool:
    return parse_expression(f"inputs.text.matches('{pattern}')").evaluate({"inputs": {"text": text}})


def test_a_text_that_is_no_text_is_told() -> None:
    with pytest.raises(ExpressionFault) as caught:
        matches("\ud800", "a")
    assert caught.value.message == "The text cannot be searched."
