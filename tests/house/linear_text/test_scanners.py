"""Every hand-written scanner is linear, measured in opcodes and in thread CPU time."""

import ast
import re
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.house.linear_text.measure import TooSlow, check_opcodes, check_time, count_opcodes
from tests.house.linear_text.scanner_table import CASES, NOT_MEASURED, Case
from tests.house.linear_text.source_scan import modules, scanners
from tests.house.linear_text.test_patterns import OLD_FENCE, OLD_TOKEN, unlisted
from weftwork.protocol.envelopes.text import extraction
from weftwork.protocol.expressions import template
from weftwork.protocol.people import interrupt_tokens
from weftwork.protocol.privacy import secret_matcher

STEPS = 96
"""Length of the texts whose opcodes are counted, because tracing is slow."""
LENGTH = 2_048
SHORT = 768
"""Enough to see that a scanner is slow."""


@cache
def found_scanners() -> dict[str, list[str]]:
    return {name: reasons for module, tree in modules().items() for name, reasons in scanners(module, tree).items()}


def check_case(case: Case, length: int = LENGTH) -> None:
    for given in case.inputs:
        try:
            check_opcodes(lambda size, given=given: case.call(given, size), STEPS)
            check_time(lambda size, given=given: case.call(given, size), length, may_explode=False)
        except TooSlow as error:
            raise TooSlow(f"{' '.join(case.covers)}, {given}: {error}") from None


def test_every_scanner_has_adversarial_inputs() -> None:
    measured = [name for case in CASES for name in case.covers]
    assert sorted(set(measured)) == sorted(measured)
    assert not set(measured) & set(NOT_MEASURED)
    found = unlisted(found_scanners(), [*measured, *NOT_MEASURED])
    assert not found, "\n".join(found)


@pytest.mark.parametrize("case", CASES, ids=lambda each: (each.covers or ("more",))[0])
def test_every_scanner_is_linear(case: Case) -> None:
    assert case.inputs
    check_case(case)


def covering(name: str) -> Case:
    (found,) = [case for case in CASES if name in case.covers]
    return found


OLD_SKIPPED = re.compile(
    r"(?://[^\n]*"
    r"|(?:[rR][bB]?|[bB][rR])(?:\"\"\".*?\"\"\"|'''.*?'''|\"[^\"\n]*\"|'[^'\n]*')"
    r"|\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|\w+)",
    re.DOTALL,
)


def old_mask(text: str) -> str:
    return OLD_TOKEN.sub("(token)", text)


@pytest.mark.parametrize(
    ("patched", "name", "old", "measured"),
    [
        (extraction, "_FENCE", OLD_FENCE, "protocol/envelopes/text/extraction.py:split_sections"),
        (template, "_SKIPPED", OLD_SKIPPED, "protocol/expressions/template.py:_expression_end"),
        (secret_matcher, "_LONG_HOLD", 10**9, "protocol/privacy/secret_matcher.py:HoldBack._may_begin"),
    ],
    ids=["fence", "template", "hold-back"],
)
def test_an_old_way_is_seen(patched: Any, name: str, old: Any, measured: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(patched, name, old)
        with pytest.raises(TooSlow):
            check_case(covering(measured), SHORT)


def test_the_old_search_for_tokens_is_seen() -> None:
    (new,) = [each for each in CASES if each.prepare("").func is interrupt_tokens.mask_tokens]  # type: ignore[attr-defined]
    with pytest.raises(TooSlow):
        check_case(Case((), lambda given: lambda: old_mask(given), new.inputs), SHORT)


def quadratic_steps(text: str) -> int:
    return sum(1 for at in range(len(text)) for _ in text[at:])


def quadratic_copies(text: str) -> None:
    while text:
        text = text[1:]


def linear_steps(text: str) -> int:
    return sum(1 for _ in text)


def named(function: Callable[[str], Any]) -> Callable[[int], Callable[[], Any]]:
    """A call of the function, as if it were in the package."""
    made = FunctionType(function.__code__, {**function.__globals__, "__name__": "weftwork.sample"})
    return lambda length: lambda: made("a" * length)


def test_a_quadratic_function_is_seen_in_opcodes_and_a_linear_one_passes() -> None:
    with pytest.raises(TooSlow, match="opcodes"):
        check_opcodes(named(quadratic_steps), 200)
    check_opcodes(named(linear_steps), 200)
    assert count_opcodes(named(linear_steps)(500), 10**6) == count_opcodes(named(linear_steps)(500), 10**6)


def test_quadratic_copies_in_c_are_seen_in_time_only() -> None:
    check_opcodes(named(quadratic_copies), 500)
    with pytest.raises(TooSlow, match="times as long"):
        check_time(named(quadratic_copies), 16_384)


@each_case(
    "source",
    "def f(text: str):\n    while (at := text.find('x', at)) >= 0: ...",
    "def f(text):\n    return PATTERN.match(text, 3)",
    "def f(text: str):\n    while text.startswith('x'): ...",
    "def f(text: str):\n    for at in range(10): text[at]",
    "def f(text: bytes):\n    for at in range(len(text)): ...",
    "def f(text: str | None):\n    return [each for each in text]",
    "def f(text: str):\n    for at, each in enumerate(text): ...",
    "def f(text: str, items):\n    return [each for each in items if each in text]",
    "def f(text: str, items):\n    for each in items: text = text.replace(each, '')",
    "def f(items):\n    text = ''\n    for each in items: text += each",
    "def f(data):\n    text = data.decode()\n    for each in text.split(','): ...",
    "def f(text):\n    for each in PATTERN.finditer(text): ...",
    "def f(text):\n    parts = text.split(',')\n    for each in parts: ...",
    "def f(text):\n    *lines, rest = text.split(',')\n    for each in lines: ...",
    "class A:\n    _text: str = ''\n    def f(self, piece): self._text += piece",
    "class A:\n    def __init__(self): self._text = b''\n    async def f(self, piece): self._text = self._text + piece",
)
def test_a_scanner_is_found(source: str) -> None:
    assert len(scanners("a.py", ast.parse(source))) == 1


@each_case(
    "source",
    "def f(text: str): return text.split(',')",
    "def f(items):\n    for each in items: each.strip()",
    "def f(rows, key): return rows.find(key, 3)",
    "def f(items: list[str]):\n    for at in range(len(items)): items[at]",
    "def f(text: str):\n    for each in 'a b'.split(): ...",
    "def f(names):\n    names += [1]",
)
def test_what_is_no_scanner_is_not_found(source: str) -> None:
    assert scanners("a.py", ast.parse(source)) == {}


def test_a_scanner_without_inputs_is_seen() -> None:
    new = scanners("protocol/new.py", ast.parse("def f(text: str):\n    for each in text: ..."))
    assert unlisted([*found_scanners(), *new], found_scanners()) == [
        "protocol/new.py:f: add it to the table, with adversarial inputs"
    ]
