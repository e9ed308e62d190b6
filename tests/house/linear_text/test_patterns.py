"""Every regular expression is linear: it has adversarial inputs, its parse tree is unambiguous, its time shows it."""

import ast
import importlib
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.house.linear_text.automaton import Automaton
from tests.house.linear_text.measure import TooSlow, check_time
from tests.house.linear_text.pattern_table import PATTERNS, Entry, Input, entry
from tests.house.linear_text.source_scan import UNANCHORED, PatternSite, modules, pattern_sites, pattern_uses

LENGTH = 4_096
SHORT = 768
"""Enough to see that a pattern is slow."""

Pattern = re.Pattern[Any]


@cache
def sites() -> dict[str, PatternSite]:
    return {site.name: site for name, tree in modules().items() for site in pattern_sites(name, tree)}


@cache
def uses() -> dict[str, set[str]]:
    return pattern_uses(modules())


def unlisted(found: Iterable[str], table: Iterable[str]) -> list[str]:
    """What is wrong with the table, in words."""
    found, table = set(found), set(table)
    missing = [f"{name}: add it to the table, with adversarial inputs" for name in sorted(found - table)]
    return missing + [f"{name}: remove it from the table" for name in sorted(table - found)]


def compiled(site: PatternSite, listed: Entry) -> Iterator[tuple[Pattern, str]]:
    """The patterns of a place, each with the ways in which it is applied."""
    function = site.call.func
    called = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
    if listed.patterns is not None:
        yield from ((pattern, listed.use) for pattern in listed.patterns())
        return
    name = site.name.partition(":")[0].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    scope = vars(importlib.import_module(f"weftwork.{name}"))
    if called != "compile":
        yield re.compile(eval(ast.unparse(site.call.args[0]), scope)), "search" if called in UNANCHORED else called
        return
    pattern = eval(ast.unparse(site.call), scope)
    for use in {listed.use} - {""} or uses().get(site.name.partition("#")[0], {"search"}):
        yield pattern, use


def matching(pattern: Pattern, use: str, given: Input) -> Callable[[int], Callable[[], Any]]:
    """Prepares a match of a text of a given length."""

    def prepare(length: int) -> Callable[[], Any]:
        text: Any = given.text(length)
        if isinstance(pattern.pattern, bytes):
            text = text.encode("latin-1", "replace")
        if use == "search":
            return lambda: deque(pattern.finditer(text), 0)
        return lambda: getattr(pattern, use)(text)

    return prepare


def check_pattern(pattern: Pattern, use: str, listed: Entry) -> None:
    """Raise TooSlow if a pattern is not linear."""
    automaton = Automaton(pattern, use)
    if (faults := automaton.faults()) and not listed.sound:
        raise TooSlow(f"{pattern.pattern!r}, {use}: {faults[0]}")
    derived = [Input(unit, before) for before, unit in automaton.attacks()]
    for given in (*listed.inputs, *derived):
        try:
            check_time(matching(pattern, use, given), LENGTH, may_explode=bool(faults))
        except TooSlow as error:
            raise TooSlow(f"{pattern.pattern!r}, {use}, {given}: {error}") from None


def test_every_pattern_has_adversarial_inputs() -> None:
    found = unlisted(sites(), PATTERNS)
    assert not found, "\n".join(found)
    assert all(each.inputs for each in PATTERNS.values())


@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_is_linear(name: str) -> None:
    for pattern, use in compiled(sites()[name], PATTERNS[name]):
        check_pattern(pattern, use, PATTERNS[name])


def test_a_reason_is_given_only_where_it_is_needed() -> None:
    excused = [name for name, listed in PATTERNS.items() if listed.sound]
    assert all(
        any(Automaton(pattern, use).faults() for pattern, use in compiled(sites()[name], PATTERNS[name]))
        for name in excused
    )


# What the host used before: each took quadratic time.
OLD_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})([^\n`{[]*)$", re.MULTILINE)
OLD_TOKEN = re.compile(r"[A-Za-z0-9_-]{4,}(?:\.|%2[Ee])[A-Za-z0-9_-]{43}")
OLD_REGEXP_TOKEN = re.compile(r"\\[pP](?:\{[^}]*\}|.)?|\\x\{[^}]*\}|.", re.DOTALL)
OLD_EXAMPLE = re.compile(r"```json\n(.*?)\n```\s*\Z", re.DOTALL)
OLD_KEY = re.compile(r'Key not found in map : "(.*)"$', re.DOTALL)


@each_case(
    "name, old",
    ("protocol/envelopes/text/extraction.py:_FENCE", OLD_FENCE),
    ("protocol/people/interrupt_tokens.py:_TOKEN_IN_TEXT", OLD_TOKEN),
)
def test_the_inputs_show_that_an_old_pattern_was_slow(name: str, old: Pattern) -> None:
    def slow() -> Iterator[Input]:
        for given in PATTERNS[name].inputs:
            try:
                check_time(matching(old, "search", given), SHORT)
            except TooSlow:
                yield given

    assert any(slow())


@each_case(
    "pattern, use",
    (OLD_FENCE, "search"),
    (OLD_TOKEN, "search"),
    (OLD_REGEXP_TOKEN, "search"),
    (OLD_EXAMPLE, "search"),
    (OLD_KEY, "search"),
    (re.compile(r"(a+)+b"), "match"),
    (re.compile(r"(?:a|ab|b)*c"), "match"),
    (re.compile(r"(?:[ \t]+|x)*y"), "fullmatch"),
    (re.compile(r"(?:(?:a{0,9}){0,9})*b"), "match"),
    (re.compile(r"\s*a*\s*x"), "match"),
    (re.compile(r"a*a*"), "fullmatch"),
    (re.compile(r"a+b"), "search"),
    (re.compile(r"a++b"), "search"),
    (re.compile(r"x?[a-z]*y"), "search"),
    (re.compile(r"a(?:.*b)?"), "search"),
    (re.compile(r"(?=a*b)a"), "search"),
    (re.compile(r"(?<!b)a+c"), "search"),
    (re.compile(r"[^x]{0,400}x"), "search"),
    (re.compile(rb"(?i:A+)b"), "search"),
)
def test_a_parse_tree_that_is_ambiguous_is_seen(pattern: Pattern, use: str) -> None:
    with pytest.raises(TooSlow):
        check_pattern(pattern, use, entry("a"))


@each_case(
    "pattern, use",
    (re.compile(r"a+"), "search"),
    (re.compile(r"a+b"), "match"),
    (re.compile(r"a*a*"), "match"),
    (re.compile(r"(?<!a)a+b"), "search"),
    (re.compile(r"x[^x]*y"), "search"),
    (re.compile(r'"(?:[^"\\]++|\\.)*+"'), "match"),
    (re.compile(r"(?:[a-z]+\.)*x"), "fullmatch"),
    (re.compile(r"^\s*x", re.ASCII), "search"),
    (re.compile(r"[a-z]{1,64}@"), "search"),
)
def test_a_parse_tree_that_is_unambiguous_passes(pattern: Pattern, use: str) -> None:
    check_pattern(pattern, use, entry("a", "x"))


@each_case(
    "pattern, use, given",
    (OLD_FENCE, "search", Input("~", after="{")),
    (OLD_TOKEN, "search", Input("a")),
    (re.compile(r"(a+)+b"), "match", Input("a")),
)
def test_the_time_shows_what_is_slow(pattern: Pattern, use: str, given: Input) -> None:
    with pytest.raises(TooSlow):
        check_time(matching(pattern, use, given), SHORT)


@each_case(
    "source, names",
    ("import re\nA = re.compile('x')", ["a.py:A"]),
    ("import re\nA: Final = re.compile('x')", ["a.py:A"]),
    ("import re as r\nA = (r.compile('x'), r.compile('y'))", ["a.py:A", "a.py:A#2"]),
    ("from re import compile as made\nA = {1: made('x')}", ["a.py:A"]),
    ("import re\ndef f(x):\n    return re.sub('a', 'b', x)", ["a.py:f"]),
    (
        "import re\nclass A:\n    B = re.compile('x')\n    def f(self): return re.search('x', 'y')",
        ["a.py:A.B", "a.py:A.f"],
    ),
    ("import re\nPART = 'a'\nA = re.compile(rf'{PART}+')", ["a.py:A"]),
    ("import re\nx = re.escape('a')\ndef f(m: re.Match[str]): ...", []),
)
def test_a_pattern_is_found(source: str, names: list[str]) -> None:
    assert [site.name for site in pattern_sites("a.py", ast.parse(source))] == names


def test_a_pattern_without_inputs_and_inputs_without_a_pattern_are_seen() -> None:
    new = pattern_sites("protocol/new.py", ast.parse("import re\n_NEW = re.compile('a+')"))
    assert unlisted([*sites(), *(site.name for site in new)], PATTERNS) == [
        "protocol/new.py:_NEW: add it to the table, with adversarial inputs"
    ]
    assert unlisted(list(sites())[1:], PATTERNS) == [f"{next(iter(sites()))}: remove it from the table"]


def test_the_use_of_a_pattern_is_found() -> None:
    first = ast.parse("import re\nA = re.compile('x')\nB = re.compile('y')\ndef f(x): return A.fullmatch(x)")
    second = ast.parse("from first import A, B\ndef f(x):\n    A.sub('', x)\n    return map(B.match, x)")
    assert pattern_uses({"first.py": first, "second.py": second}) == {
        "first.py:A": {"fullmatch", "search"},
        "first.py:B": {"match"},
    }
