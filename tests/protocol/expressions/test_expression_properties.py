"""Expressions: what holds for any value and text, in any process, on their page, and what the self-test finds."""

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example
from hypothesis import strategies as st

from tests.docs.pages import ROOT, blocks
from tests.harness.cases import each_case
from tests.harness.definitions import for_all
from tests.protocol.expressions.test_expression import SCOPE, fault
from weftwork.app import Host
from weftwork.cli.doctor.machine_checks import check_expressions
from weftwork.cli.serve.startup import run_host
from weftwork.protocol.errors import HostFault
from weftwork.protocol.expressions import cel, cost, expression
from weftwork.protocol.expressions.expression import (
    MAX_PATTERN,
    MAX_PATTERN_STATES,
    Expression,
    check_evaluator,
    check_pattern,
    matches,
    parse_expression,
)
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.expressions.template import MAX_TEMPLATE, MAX_TEMPLATE_EXPRESSIONS, parse_template
from weftwork.protocol.expressions.values import MAX_LIST, MAX_RESULT
from weftwork.settings import Settings

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


@for_all(100, VALUES)
@example(-0.0)
@example(2**53 - 1)
@example(1e22)
def test_a_value_passes_through_unchanged(value: Any) -> None:
    scope = {"inputs": {"x": value}}
    assert same(parse_expression("inputs.x").evaluate(scope), plain(value))
    assert same(parse_expression("[inputs.x]").evaluate(scope), [plain(value)])
    assert parse_expression("inputs.x == inputs['x']").evaluate(scope) is True


@for_all(100, TEXTS, VALUES)
def test_a_member_is_found_by_any_name(name: str, value: Any) -> None:
    got = parse_expression("inputs[variables.name]").evaluate({"inputs": {name: value}, "variables": {"name": name}})
    assert same(got, plain(value))


@for_all(100, st.integers(-(2**52), 2**52))
def test_integers_stay_exact(number: int) -> None:
    got = parse_expression("inputs.n + 1.0 - 1.0").evaluate({"inputs": {"n": number}})
    assert got == number
    assert isinstance(got, int)


@for_all(100, st.text(max_size=60) | WORDS, VALUES, full=8_000)
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


@for_all(100, st.text(max_size=60) | WORDS, full=4_000)
def test_any_text_is_a_template_or_a_fault(text: str) -> None:
    try:
        rendered = parse_template(text).render({"inputs": {"x": 1}, "variables": {}, "nodes": {}, "configurable": {}})
    except ExpressionFault:
        return
    assert "{{" in text or rendered == text


@for_all(150, st.text(max_size=40) | st.text("(){}[]^$.*+?|\\pLQE0123,:ab-i", max_size=40), TEXTS, full=6_000)
def test_any_text_is_a_pattern_or_has_a_problem(pattern: str, text: str) -> None:
    problem = check_pattern(pattern)
    if problem is None:
        assert matches(text, pattern) in (True, False)
    else:
        assert problem.startswith(("is not a valid", "unfolds to", "holds a lone"))


SPREAD = """
from weftwork.protocol.expressions.expression import parse_expression
from weftwork.protocol.expressions.template import parse_template
words = {word: 1 for word in "zebra quick fox jumps over lazy dogs and cats in the long grass".split()}
scope = {"inputs": {"words": words, "list": list(words)}}
sources = ["inputs.words", "{'k': {'z': 1, 'y': 2, 'x': 3, 'w': 4}}", "inputs.list.map(w, {'w': w, 'a': 1})"]
print([parse_expression(source).evaluate(scope) for source in sources])
print(parse_template("{{ inputs.words }}").render(scope))
"""


@pytest.mark.rule("expr-11")
def test_every_process_gives_the_same() -> None:
    said = {
        subprocess.run([sys.executable, "-c", SPREAD], capture_output=True, text=True, timeout=60, check=True).stdout
        for _ in range(2)
    }
    assert len(said) == 1


@pytest.mark.rule("expr-11")
@pytest.mark.parametrize(
    "source",
    [
        "inputs.deep.map(k, k)",
        "inputs.deep.filter(k, true)",
        "inputs.items[0].map(k, k)",
        "(inputs.yes ? inputs.deep : inputs.items[0]).map(k, k)",
        "dyn({'b': 1, 'a': 2}).map(k, k)",
        "{'b': 1, 'a': 2}.map(k, k).map(k, k)",
    ],
)
def test_no_list_is_gathered_from_an_object(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fault(source).message == "map and filter require a list; this value is an object."
    monkeypatch.setattr(Expression, "_check_iterated", lambda *_: None)
    assert parse_expression(source).evaluate(SCOPE)


@pytest.mark.parametrize("source", ["inputs.none", "null", "[inputs.list, {'a': inputs.none}]", "[1.0].map(x, null)"])
def test_no_null_is_asked_for_its_value(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package does not count the None that it gives; where None can be used up, that ends the process."""
    expression = parse_expression(source)

    def lost() -> int:
        before = sys.getrefcount(None)
        for _ in range(200):
            expression.evaluate(SCOPE)
        return before - sys.getrefcount(None)

    lost()
    assert abs(lost()) < 100
    spare = [None] * 1000
    monkeypatch.setattr(cel, "outcome_value", lambda outcome: outcome.value())
    assert lost() >= 100 or sys.version_info >= (3, 12)
    # What was lost is given back, so that the process of these tests outlives them.
    GIVEN_BACK.extend(spare)


GIVEN_BACK: list[None] = []


def test_the_package_is_loaded_by_the_first_expression() -> None:
    script = "import sys, weftwork.app, weftwork.protocol.expressions.expression as e\n"
    script += "print('cel_expr_python' in sys.modules)\n"
    script += "e.parse_expression('1'); print('cel_expr_python' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.split() == ["False", "True"]


class _Doubled:
    """An outcome as a package would give it that adds wrongly."""

    def __init__(self, outcome: Any) -> None:
        self.type = outcome.type
        self.value = lambda: outcome.value()
        self.plain_value = lambda: outcome.plain_value() * 2


def break_evaluator(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = cel.evaluate_program

    def evaluate(program: Any, data: dict[str, Any]) -> tuple[Any, str | None]:
        outcome, said = honest(program, data)
        return (outcome, said) if outcome is None else (_Doubled(outcome), said)

    monkeypatch.setattr(cel, "evaluate_program", evaluate)


def test_the_installed_package_passes() -> None:
    assert check_evaluator() is None
    assert check_expressions().status == "ok"


@pytest.mark.parametrize("number", range(len(expression.CASES)))
def test_every_case_can_fail(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    source, expected = expression.CASES[number]
    other = float(expected) if isinstance(expected, int) else [expected]
    monkeypatch.setattr(expression, "CASES", ((source, other),))
    assert check_evaluator() == f"`{source}` returns {expected!r} instead of {other!r}"


def test_a_package_that_raises_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise OSError("undefined symbol")

    monkeypatch.setattr(cel, "evaluate_program", refuse)
    assert "undefined symbol" in (check_evaluator() or "")


async def test_a_host_does_not_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_evaluator(monkeypatch)
    with pytest.raises(HostFault, match="returns 84 instead of 42"):
        await Host(Settings(data=str(tmp_path / "data"))).open()
    assert not (tmp_path / "data").exists()
    assert check_expressions().status == "fail"


async def test_serve_says_what_is_installed_and_what_is_tested(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    break_evaluator(monkeypatch)
    assert await run_host(Settings(store="memory", port=0)) == 1
    said = capsys.readouterr().err
    assert "`inputs.price * 2.0 + 1.0` returns 84 instead of 42" in said
    assert f"Installed is cel-expr-python {version('cel-expr-python')}; install the tested version" in said
    assert "pip install 'cel-expr-python" in said


PAGE = (ROOT / "docs" / "reference" / "expressions.md").read_text("utf-8")
PAGE_SCOPE: dict[str, Any] = next(json.loads(block.code) for block in blocks(PAGE) if block.language == "json")


def lines(language: str, divider: str) -> list[tuple[str, str]]:
    listed = [line for block in blocks(PAGE) if block.language == language for line in block.code.splitlines()]
    return [(source, said) for source, _, said in (line.rpartition(divider) for line in listed)]


def outcome(source: str) -> str:
    try:
        return json.dumps(parse_expression(source).evaluate(PAGE_SCOPE))
    except ExpressionFault as fault:
        return f"{fault.code}: {fault.message}"


def test_the_examples_are_found() -> None:
    assert len(lines("cel", "  // ")) > 30
    assert len(lines("template", "  →  ")) >= 3


@each_case("source, said", *lines("cel", "  // "))
def test_examples(source: str, said: str) -> None:
    got = outcome(f"{source} // {said}")
    code, divider, words = said.partition(": ")
    if divider and code.startswith("expression_"):
        assert got.startswith(f"{code}: ")
        assert words in got
    else:
        assert json.loads(got) == json.loads(said)


@pytest.mark.parametrize(("text", "rendered"), lines("template", "  →  "))
def test_templates(text: str, rendered: str) -> None:
    assert parse_template(text).render(PAGE_SCOPE) == rendered


def test_the_use_of_timestamps_on_the_page() -> None:
    source = next(match[1] for match in re.finditer(r"`(timestamp\(.*?\"\))`", PAGE))
    assert parse_expression(source).evaluate(
        {"inputs": {"start": "2024-01-01T00:00:00Z", "end": "2024-01-01T02:00:00Z"}}
    )


def test_the_bounds() -> None:
    shown = {
        "2 KiB": expression.MAX_SOURCE == 2 * 1024,
        "64 KiB and 64 expressions": (MAX_TEMPLATE, MAX_TEMPLATE_EXPRESSIONS) == (64 * 1024, 64),
        "10,000 items": MAX_LIST == 10_000,
        "2,000 items": cost.MAX_BUILT_ITEMS == 2_000,
        "256 KiB as JSON": MAX_RESULT == 256 * 1024,
        "20 million units": cost.MAX_WORK == 20_000_000,
        "A pattern has at most 1 KiB and 20,000 states": (MAX_PATTERN, MAX_PATTERN_STATES) == (1024, 20_000),
    }
    assert not [text for text, true in shown.items() if not true or text not in " ".join(PAGE.split())]


def test_every_name_is_on_the_page() -> None:
    assert not [name for name in (*expression.SCOPE_NAMES, "ports") if f"| `{name}` |" not in PAGE]
