"""The page about expressions: every example on it is evaluated, every bound on it is the one in force."""

import json
import re
from typing import Any

import pytest

from tests.docs.pages import ROOT, blocks
from weftwork.protocol.expressions import cost, expression
from weftwork.protocol.expressions.expression import MAX_PATTERN, MAX_PATTERN_STATES, parse_expression
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.expressions.template import MAX_TEMPLATE, MAX_TEMPLATE_EXPRESSIONS, parse_template
from weftwork.protocol.expressions.values import MAX_LIST, MAX_RESULT

PAGE = (ROOT / "docs" / "reference" / "expressions.md").read_text("utf-8")
SCOPE: dict[str, Any] = next(json.loads(block.code) for block in blocks(PAGE) if block.language == "json")


def lines(language: str, divider: str) -> list[tuple[str, str]]:
    listed = [line for block in blocks(PAGE) if block.language == language for line in block.code.splitlines()]
    return [(source, said) for source, _, said in (line.rpartition(divider) for line in listed)]


def outcome(source: str) -> str:
    try:
        return json.dumps(parse_expression(source).evaluate(SCOPE))
    except ExpressionFault as fault:
        return f"{fault.code}: {fault.message}"


def test_the_examples_are_found() -> None:
    assert len(lines("cel", "  // ")) > 30
    assert len(lines("template", "  →  ")) >= 3


@pytest.mark.parametrize(("source", "said"), lines("cel", "  // "))
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
    assert parse_template(text).render(SCOPE) == rendered


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
        "1 KiB and unfolds to at most 20,000 states": (MAX_PATTERN, MAX_PATTERN_STATES) == (1024, 20_000),
    }
    assert not [text for text, true in shown.items() if not true or text not in " ".join(PAGE.split())]


def test_every_name_is_on_the_page() -> None:
    assert not [name for name in (*expression.SCOPE_NAMES, "ports") if f"| `{name}` |" not in PAGE]
