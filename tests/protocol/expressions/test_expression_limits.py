"""Expressions and their patterns are bounded: each bound at its limit, one over it, and with the guard taken away."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.harness.cases import each_case
from weftwork.protocol.expressions import cel, cost, expression, values
from weftwork.protocol.expressions import expression as module
from weftwork.protocol.expressions.cost import count_states
from weftwork.protocol.expressions.expression import (
    MAX_PATTERN,
    MAX_PATTERN_STATES,
    MAX_SOURCE,
    check_pattern,
    matches,
    parse_expression,
)
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.expressions.template import parse_template
from weftwork.protocol.expressions.values import MAX_LIST, MAX_RESULT


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What was parsed under a guard that is gone is not kept."""
    yield
    parse_expression.cache_clear()
    parse_template.cache_clear()


def evaluate(source: str, **inputs: Any) -> Any:
    return parse_expression(source).evaluate({"inputs": inputs})


def limited(work: Callable[..., Any], *args: Any, **more: Any) -> str:
    with pytest.raises(ExpressionFault) as caught:
        work(*args, **more)
    assert caught.value.code == "expression_limit"
    return caught.value.message


def quoted(size: int) -> str:
    return f"'{'ü' * (size // 2 - 1)}'"


@pytest.mark.rule("expr-05")
def test_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(quoted(MAX_SOURCE).encode()) == MAX_SOURCE
    assert len(evaluate(quoted(MAX_SOURCE))) == MAX_SOURCE // 2 - 1
    assert "2,048 bytes" in limited(parse_expression, quoted(MAX_SOURCE) + " ")
    monkeypatch.setattr(module, "MAX_SOURCE", MAX_SOURCE + 1)
    parse_expression(quoted(MAX_SOURCE) + " ")


NESTED = [
    "[[1.0]].map(x, x.map(y, y))",
    "[1.0].filter(x, [x].all(y, true))",
    "[1.0].all(x, [1.0].exists(y, y == x))",
    "[1.0].exists(x, [1.0].exists_one(y, y == x))",
    "[1.0].exists_one(x, [x].filter(y, true).size() > 0)",
    "[1.0].map(x, [x] . map /* no comment */ (y, y))".replace("/* no comment */", "// )\n"),
]
CHAINED = [
    "[1.0].map(x, x).filter(x, true).map(x, x)",
    "[1.0].filter(x, true).all(x, true) && [1.0].exists(x, true)",
    "[1.0].map(x, '[1].map(x, [2].map(y, y))')",
    "[1.0].map(x, x) // [1].map(x, [2].map(y, y))",
    "[1.0].map(x, r'\\d.map(y, y)' + '''.map(y,\ny)''')",
    "[[1.0].map(x, x), [2.0].map(x, x)]",
]


@pytest.mark.rule("expr-05")
@pytest.mark.parametrize("source", NESTED)
def test_walks_are_not_nested(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "cannot be nested" in limited(parse_expression, source)
    inner = cost.Cost.comprehension
    monkeypatch.setattr(cost.Cost, "comprehension", lambda self, tree, bound, walked: inner(self, tree, bound, False))  # pyright: ignore[reportPrivateUsage]
    assert evaluate(source)


@pytest.mark.rule("expr-05")
@each_case("source", *CHAINED)
def test_a_chain_is_no_nesting(source: str) -> None:
    assert evaluate(source)


@pytest.mark.rule("expr-05")
@each_case("opening, closing", ("(", ")"), ("[", "]"), ("{'a':", "}"), ("true ? 1 : (", ")"), ("-(", ")"))
def test_the_depth_of_the_source(opening: str, closing: str) -> None:
    """The package's own bound; that it is there is all that keeps its stack from running over."""
    parse_expression(f"{opening * 10}1{closing * 10}")
    assert "32 levels" in limited(parse_expression, f"{opening * 120}1{closing * 120}")
    assert "32 levels" in limited(parse_expression, "1" + " + 1" * 200)
    assert "32 levels" in limited(parse_expression, "inputs" + ".a" * 200)


@pytest.mark.rule("expr-04")
@pytest.mark.parametrize("make", [lambda n: [True] * n, lambda n: dict.fromkeys(map(str, range(n)), True)])
def test_the_lists_and_objects_in_scope(make: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert evaluate("size(inputs.a)", a=make(MAX_LIST)) == MAX_LIST
    assert evaluate("size(inputs.a.b)", a={"b": [make(MAX_LIST)]}) == 1
    for scope in ({"a": make(MAX_LIST + 1)}, {"a": [make(MAX_LIST + 1)]}):
        assert "10,000 items" in limited(evaluate, "size(inputs.a)", **scope)
        assert evaluate("inputs.b", b=1, **scope) == 1
    monkeypatch.setattr(values, "MAX_LIST", MAX_LIST + 1)
    assert evaluate("size(inputs.a)", a=make(MAX_LIST + 1)) == MAX_LIST + 1


@pytest.mark.rule("expr-04")
@pytest.mark.parametrize("source", ["inputs.a.map(x, x)", "inputs.a.filter(x, x)", "inputs.b.map(x, x)"])
def test_the_lists_beside_a_gathering(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """map and filter copy the list for every item, so they get fewer."""
    most = cost.MAX_BUILT_ITEMS
    source = f"{source}.size() >= 0 && size(inputs.a) > 0"
    assert evaluate(source, a=[True] * most, b=[]) is True
    assert "2,000 items" in limited(evaluate, source, a=[True] * (most + 1), b=[])
    assert evaluate("inputs.a.all(x, x)", a=[True] * (most + 1)) is True
    monkeypatch.setattr(cost, "MAX_BUILT_ITEMS", most + 1)
    assert evaluate(source, a=[True] * (most + 1), b=[]) is True


@pytest.mark.rule("expr-04", "expr-06")
def test_lists_that_are_joined_or_walked_over_count_together() -> None:
    source = "(inputs.a + inputs.a).map(x, x).size()"
    assert evaluate(source, a=[True] * 1000) == 2000
    assert "1,000 items" in limited(evaluate, source, a=[True] * 1001)
    assert "500 items" in limited(evaluate, "[inputs.a].map(x, x + x + x + x)[0].map(x, x)", a=[True] * 501)
    assert evaluate("inputs.a.all(x, x)", a=[True] * 9_999) is True
    assert "9,999 items" in limited(evaluate, "inputs.a.all(x, x)", a=[True] * 10_000)
    assert "9,999 items" in limited(evaluate, "inputs.a.all(x, x) && inputs.a.all(y, y)", a=[True] * 5_001)


@pytest.mark.rule("expr-06")
@pytest.mark.parametrize(
    ("source", "enough", "most"),
    [
        ("inputs.a.all(x, x in inputs.a)", 3_000, 6_000),
        ("inputs.a.all(x, !inputs.s.contains('ab'))", 1_000, 9_000),
        ("inputs.a.map(x, inputs.s + 'b').size() > 0", 500, 2_000),
        ("inputs.a.map(x, x).map(x, x).map(x, x).size() > 0", 1_000, 2_000),
        ("inputs.a.all(x, !inputs.t.matches('[0-9a-f]{100}'))", 500, 5_000),
    ],
)
def test_the_work(source: str, enough: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What grows as the product of two values is refused before it starts."""
    texts = {"s": "a" * 40_000, "t": "x"}
    assert evaluate(source, a=list(range(enough)), **texts) is True
    monkeypatch.setattr(module.cel, "evaluate_program", lambda *_: pytest.fail("it started"))
    assert "too long" in limited(evaluate, source, a=list(range(most)), **texts)
    monkeypatch.setattr(module, "MAX_WORK", 10**12)
    with pytest.raises(pytest.fail.Exception):
        evaluate(source, a=list(range(most)), **texts)


@pytest.mark.rule("expr-06")
def test_the_work_at_its_limit() -> None:
    expression = parse_expression("inputs.a == inputs.b")
    scope = {"inputs": {"a": [1, 2], "b": "text"}}
    _, left = expression.evaluate_with_budget(1_000, scope)
    need = 1_000 - left
    assert expression.evaluate_with_budget(need, scope) == (False, 0)
    assert "too long" in limited(expression.evaluate_with_budget, need - 1, scope)


GROWING = [
    "['aaaaaaaa']" + ".map(x, x + x)" * 24 + "[0].size()",
    "[[1]]" + ".map(x, [x, x])" * 24 + " == []",
    "[inputs.s]" + ".map(x, x + x)" * 24 + "[0].size()",
    "[inputs.s]" + ".map(x, {'a': x, 'b': [x, x]})" * 20 + " == []",
    "[inputs.s]" + ".map(x, true ? [x, x] : [])" * 25 + " == []",
    "[dyn([1])]" + ".map(x, dyn(x) + x)" * 24 + "[0].size()",
]


@pytest.mark.rule("expr-05")
@pytest.mark.parametrize("source", GROWING)
def test_values_that_double_with_every_step(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two dozen doublings would fill the memory; the source is a few hundred bytes."""
    assert "grow too fast" in limited(parse_expression, source)
    monkeypatch.setattr(cost, "MAX_WORK", 10**12)
    parse_expression(source)


@pytest.mark.rule("expr-07")
@pytest.mark.parametrize(
    ("make", "size"),
    [
        (lambda n: "a" * n, 2),
        (lambda n: ["a" * (n - 2)], 4 - 2),
        (lambda n: {"k": "a" * (n - 6)}, 8 - 6),
        (lambda n: "é" * (n // 2), 2),
        (lambda n: '"' * (n // 2), 2),
    ],
)
def test_the_result(make: Callable[[int], Any], size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    most = MAX_RESULT - size
    assert evaluate("inputs.a", a=make(most)) == make(most)
    assert "256 KiB" in limited(evaluate, "inputs.a", a=make(most + 2))
    monkeypatch.setattr(values, "MAX_RESULT", MAX_RESULT * 2)
    assert evaluate("inputs.a", a=make(most + 2)) == make(most + 2)


@pytest.mark.rule("expr-07")
def test_numbers_in_a_result_count_as_they_are_written() -> None:
    number = 1.2345678901234567
    items = MAX_RESULT // len(f"{number},")
    scope = {"a": [number] * 9_000, "b": [number] * (items - 9_000)}
    assert len(evaluate("inputs.a + inputs.b", **scope)) == items
    assert "256 KiB" in limited(evaluate, "inputs.a + inputs.b + [1.5]", **scope)


@pytest.mark.rule("expr-07")
def test_a_result_is_not_made_to_find_that_it_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two thousand references to one text: twenty kilobytes inside, forty megabytes when written out."""
    seen: list[Any] = []
    opened = values.cel.outcome_value
    monkeypatch.setattr(values.cel, "outcome_value", lambda outcome: seen.append(None) or opened(outcome))
    scope = {"a": [True] * 2_000, "s": "a" * 20_000}
    assert "256 KiB" in limited(evaluate, "inputs.a.map(x, inputs.s)", **scope)
    assert len(seen) < 20
    monkeypatch.setattr(values, "MAX_RESULT", 2**30)
    assert len(evaluate("inputs.a.map(x, inputs.s)", **scope)) == 2_000


@pytest.mark.rule("expr-07")
def test_the_depth_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    def nested(levels: int) -> Any:
        value: Any = 1
        for _ in range(levels):
            value = [value]
        return value

    assert evaluate("inputs.a", a=nested(64)) == nested(64)
    assert "64 levels" in limited(evaluate, "inputs.a", a=nested(65))
    assert "64 levels" in limited(evaluate, "[inputs.a]", a=nested(64))
    assert evaluate("inputs.a == 1", a=nested(73)) is False
    assert "72 levels" in limited(evaluate, "inputs.a == 1", a=nested(74))
    monkeypatch.setattr(values, "MAX_DEPTH", 65)
    assert evaluate("inputs.a", a=nested(65)) == nested(65)


def test_the_expressions_of_a_template_share_their_work() -> None:
    one = "{{ inputs.a.map(x, x).map(x, x).size() }}"
    scope = {"inputs": {"a": [True] * 2_000}}
    assert parse_template(one).render(scope) == "2000"
    assert "together exceed their limit of 20,000,000 units" in limited(parse_template(one * 2).render, scope)


UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


@pytest.mark.rule("expr-09")
@each_case(
    "text, pattern, found",
    ("order-12", "[0-9]+", True),
    ("order-12", "^[0-9]+$", False),
    ("", "", True),
    ("ORDER", "(?i)order", True),
    ("a\nb", "a.b", False),
    ("Größe", "ö", True),
    ("Größe", r"^\pL+$", True),
    ("a.b", r"\Qa.b\E", True),
    ("0f8fad5b-d9cb-469f-a165-70867728950e", f"^{UUID}$", True),
)
def test_a_pattern_is_searched_for_anywhere(text: str, pattern: str, found: bool) -> None:
    assert check_pattern(pattern) is None
    assert matches(text, pattern) is found


@pytest.mark.rule("expr-09")
@each_case("pattern", "(", "[a", "a**", r"\1", "(?=a)", "a{1001}", "\\")
def test_what_is_no_pattern(pattern: str) -> None:
    assert check_pattern(pattern) == "is not a valid regular expression"
    with pytest.raises(ExpressionFault) as caught:
        matches("a", pattern)
    assert caught.value.code == "expression_invalid"


@pytest.mark.rule("expr-09")
def test_the_length_of_a_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_pattern("é" * (MAX_PATTERN // 2)) is None
    assert check_pattern("é" * (MAX_PATTERN // 2) + "a") == "is longer than 1,024 bytes"
    assert check_pattern("\ud800") == "contains a lone surrogate"
    monkeypatch.setattr(expression, "MAX_PATTERN", MAX_PATTERN + 1)
    assert check_pattern("é" * (MAX_PATTERN // 2) + "a") is None


@each_case(
    "pattern, count",
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
)
def test_the_states_of_a_pattern(pattern: str, count: int) -> None:
    assert count_states(pattern) == count


@pytest.mark.rule("expr-09")
def test_the_states_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern of a few bytes can take a second to prepare."""
    assert count_states(r"\pL{4}") == MAX_PATTERN_STATES
    assert check_pattern(r"\pL{4}") is None
    assert check_pattern(r"\pL{4}a") == "compiles to more than 20,000 states; use fewer repetitions and Unicode classes"
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
