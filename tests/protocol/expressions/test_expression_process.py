"""Expressions and the process they run in: every one gives the same, and none is harmed."""

import subprocess
import sys

import pytest

from tests.protocol.expressions.test_expression import SCOPE, fault
from weftwork.protocol.expressions import cel
from weftwork.protocol.expressions.expression import Expression, parse_expression

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
    assert fault(source).message == "map and filter go over lists; this is an object."
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
