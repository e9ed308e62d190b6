"""Expressions: what holds for any value and any text."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol.expressions.expression import check_pattern, matches, parse_expression
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.expressions.template import parse_template

SAFE = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TEXTS = st.text(SAFE, max_size=20)
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5), max_leaves=15
)
# fmt: off
WORDS = st.lists(st.sampled_from([
    "inputs", "variables", "nodes", "configurable", ".", ".x", '["a"]', "[0]", "(", ")", "[", "]", "{", "}", "{{", "}}",
    ",", ":", "?", "+", "-", "*", "/", "%", "==", "!=", "<", "&&", "||", "!", " in ", "1", "1.5", "2u", "'a'", '"', "'",
    "r'", "b'x'", '"""', "\\", "//", "\n", "true", "null", ".map(x,", ".filter(x,", ".all(x,", "x", "has(", "size(",
    ".matches(", "'('", "'a{9}'", "dyn(", "int(", "string(", "type(", "timestamp(", "`a b`", "é", "\0", "\ud800", "0x",
]), max_size=25).map("".join)
# fmt: on


def plain(value: Any) -> Any:
    """The value as it must come back: a number without a fraction is an integer."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {name: plain(item) for name, item in value.items()} if isinstance(value, dict) else value


def same(one: Any, other: Any) -> bool:
    """Equal, and of equal kinds all through."""
    return repr(sort(one)) == repr(sort(other))


def sort(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: sort(value[name]) for name in sorted(value)}
    return [sort(item) for item in value] if isinstance(value, list) else value


@settings(max_examples=example_count(100), deadline=None)
@given(VALUES)
@example(-0.0)
@example(2**53 - 1)
@example(1e22)
def test_a_value_passes_through_unchanged(value: Any) -> None:
    scope = {"inputs": {"x": value}}
    assert same(parse_expression("inputs.x").evaluate(scope), plain(value))
    assert same(parse_expression("[inputs.x]").evaluate(scope), [plain(value)])
    assert parse_expression("inputs.x == inputs['x']").evaluate(scope) is True


@settings(max_examples=example_count(100), deadline=None)
@given(TEXTS, VALUES)
def test_a_member_is_found_by_any_name(name: str, value: Any) -> None:
    got = parse_expression("inputs[variables.name]").evaluate({"inputs": {name: value}, "variables": {"name": name}})
    assert same(got, plain(value))


@settings(max_examples=example_count(100), deadline=None)
@given(st.integers(-(2**52), 2**52))
def test_integers_stay_exact(number: int) -> None:
    got = parse_expression("inputs.n + 1.0 - 1.0").evaluate({"inputs": {"n": number}})
    assert got == number
    assert isinstance(got, int)


@given(st.text(max_size=60) | WORDS, VALUES)
@settings(max_examples=example_count(400), deadline=None)
def test_any_text_is_an_expression_or_a_fault(text: str, value: Any) -> None:
    scope = {"inputs": {"x": value, "a": "text"}, "variables": {}, "nodes": {"a": {}, "x": {}}, "configurable": {}}
    codes = ["expression_invalid", "expression_limit"]
    try:
        expression = parse_expression(text)
        codes = ["expression_failed", "expression_limit"]
        expression.evaluate(scope)
    except ExpressionFault as fault:
        told = fault.code
    else:
        told = codes[0]
    assert told in codes


@given(st.text(max_size=60) | WORDS)
@settings(max_examples=example_count(200), deadline=None)
def test_any_text_is_a_template_or_a_fault(text: str) -> None:
    try:
        rendered = parse_template(text).render({"inputs": {"x": 1}, "variables": {}, "nodes": {}, "configurable": {}})
    except ExpressionFault:
        return
    assert "{{" in text or rendered == text


@given(st.text(max_size=40) | st.text("(){}[]^$.*+?|\\pLQE0123,:ab-i", max_size=40), TEXTS)
@settings(max_examples=example_count(300), deadline=None)
def test_any_text_is_a_pattern_or_has_a_problem(pattern: str, text: str) -> None:
    problem = check_pattern(pattern)
    if problem is None:
        assert matches(text, pattern) in (True, False)
    else:
        assert problem.startswith(("is not a valid", "unfolds to", "holds a lone"))
