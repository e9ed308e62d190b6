"""Expressions over a run, in CEL, and templates that hold them.

Theory. An expression is parsed when its workflow is registered and evaluated when a node or an edge needs its value.
It sees JSON and gives JSON, knows no clock, chance or outside, and gives the same value for the same scope in any
process. It cannot be interrupted, so everything about it is bounded before it starts: its source and its shape
here and in expression_cost, what it reads and what it gives in expression_value. Faults say what is wrong in words
that hold no value of the run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import msgspec

from weftwork.protocol import cel
from weftwork.protocol.expression_cost import MAX_WORK, Cost, cost_of
from weftwork.protocol.expression_fault import ExpressionFault, failed, failure, invalid, over_limit
from weftwork.protocol.expression_reads import Reads, References, member_names, reads_of, references
from weftwork.protocol.expression_text import split
from weftwork.protocol.expression_tree import Each, Tree, children, read_tree
from weftwork.protocol.expression_value import MAX_LIST, MAX_RESULT, Intake, json_value, read_part, too_large
from weftwork.protocol.pattern import COMPILING, MATCHING, MAX_PATTERN, MAX_STATES, states

__all__ = [
    "MAX_LIST",
    "MAX_RESULT",
    "MAX_SOURCE",
    "MAX_WORK",
    "NAMES",
    "Expression",
    "ExpressionFault",
    "References",
    "Template",
    "check_pattern",
    "match_cost",
    "matches",
    "parse_expression",
    "parse_template",
]

NAMES: Final = ("inputs", "variables", "nodes", "configurable")
MAX_SOURCE: Final = 2048
"""Bytes of UTF-8."""
MAX_TEMPLATE: Final = 64 * 1024
"""Bytes of UTF-8."""
MAX_PLACES: Final = 64
"""Expressions in one template."""
KEPT: Final = 512
"""Parsed expressions that are remembered."""
KEPT_TEMPLATES: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """A parsed expression. Immutable."""

    source: str
    references: References
    _program: Any = field(repr=False)
    _cost: Cost = field(repr=False)
    _reads: Reads = field(repr=False)
    _read_within: Reads = field(repr=False)
    _members: frozenset[str] = field(repr=False)
    _sources: tuple[Any, ...] = field(repr=False)
    """Programs for what map and filter go over, where it could be an object."""

    def members(self, name: str) -> frozenset[str] | None:
        """What of a name is read: these members of it, or all if None."""
        below = self._reads.get(name)
        return None if below == {} else frozenset(below or ())

    def reads(self, name: str) -> bool:
        """Whether it reads anything of a name."""
        return name in self._reads

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """The JSON value in this scope. Raises ExpressionFault; its message holds no value of the scope."""
        return self.evaluate_within(MAX_WORK, scope)[0]

    def evaluate_within(self, budget: int, scope: Mapping[str, Any]) -> tuple[Any, int]:
        """The value, and what is left of a budget of work. expr-06 (host): what could go over it does not start."""
        intake = Intake()
        data = intake.take(scope, self._reads)
        within = read_part(data, self._read_within) if self._read_within else 0
        expected = self._cost.expected(intake.longest, intake.weight, within)
        if expected.work > budget:
            raise over_limit("The expression would take too long over values of this size.")
        for source in self._sources:
            self._check_source(source, data)
        outcome, said = cel.run(self._program, data)
        if said is not None:
            raise failure(said, self._members)
        nulls = intake.nulls or self._cost.nulls
        return json_value(outcome, nulls, expected.result), budget - expected.work

    def _check_source(self, source: Any, data: dict[str, Any]) -> None:
        """expr-11 (host): members have another order in every process, so no list is gathered from them."""
        outcome, said = cel.run(source, data)
        if said is None and cel.is_object(outcome):
            raise failed("map and filter go over lists; this is an object.")


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """A parsed template. Immutable."""

    text: str
    references: References
    _parts: tuple[str | Expression, ...] = field(repr=False)

    def render(self, scope: Mapping[str, Any], shown: Callable[[Expression, str], str] | None = None) -> str:
        """The text with values filled in: strings as they are, others as compact JSON; or as they are `shown`.

        Raises ExpressionFault.
        """
        left = MAX_WORK
        rendered: list[str] = []
        for at, part in enumerate(self._parts):
            if isinstance(part, Expression):
                try:
                    value, left = part.evaluate_within(left, scope)
                except ExpressionFault as fault:
                    raise _numbered(at, fault) from None
                value = value if isinstance(value, str) else msgspec.json.encode(value).decode()
                rendered.append(value if shown is None else shown(part, value))
            else:
                rendered.append(part)
        text = "".join(rendered)
        if len(text.encode()) > MAX_RESULT:
            raise too_large()
        return text


@lru_cache(maxsize=KEPT)
def parse_expression(source: str, local_names: tuple[str, ...] = ()) -> Expression:
    """expr-01 (host): an expression over NAMES and the local names. Raises ExpressionFault, invalid or limit."""
    if _bytes(source) > MAX_SOURCE:
        raise over_limit(f"An expression is at most {MAX_SOURCE:,} bytes long.")
    names = NAMES + tuple(name for name in local_names if name not in NAMES)
    program, encoded = cel.compiled(source, names)
    tree = read_tree(encoded)
    reads = reads_of(tree, names)
    read = references(reads)
    cost = cost_of(tree)
    problem = next(filter(None, map(check_pattern, cost.patterns)), None)
    if problem is not None:
        raise invalid(f"The pattern of `matches` {problem}.")
    sources = tuple(cel.part(each, names) for each in _unsure_sources(tree))
    within = reads_of(tree, names, within=True)
    return Expression(source, read, program, cost, reads, within, frozenset(member_names(tree)), sources)


@lru_cache(maxsize=KEPT_TEMPLATES)
def parse_template(text: str, local_names: tuple[str, ...] = ()) -> Template:
    """expr-08 (host): a text with expressions in double braces. Raises ExpressionFault."""
    if _bytes(text) > MAX_TEMPLATE:
        raise over_limit(f"A template is at most {MAX_TEMPLATE // 1024} KiB long.")
    pieces = split(text)
    if len(pieces) // 2 > MAX_PLACES:
        raise over_limit(f"A template holds at most {MAX_PLACES} expressions.")
    parts: list[str | Expression] = []
    read = References()
    for at, piece in enumerate(pieces):
        if at % 2 == 0:
            parts.append(piece)
            continue
        try:
            expression = parse_expression(piece.strip(), local_names)
        except ExpressionFault as fault:
            raise _numbered(at, fault) from None
        parts.append(expression)
        read = read.joined(expression.references)
    return Template(text, read, tuple(parts))


def _numbered(at: int, fault: ExpressionFault) -> ExpressionFault:
    """Says which expression of a template is at fault; pieces of text stand between them."""
    return ExpressionFault(fault.code, f"Expression {at // 2 + 1} of the template: {fault.message}")


def check_pattern(pattern: str) -> str | None:
    """What is wrong with a regular expression (RE2 syntax), None if nothing is."""
    try:
        if len(pattern.encode()) > MAX_PATTERN:
            return f"is longer than {MAX_PATTERN:,} bytes"
    except UnicodeEncodeError:
        return "holds a lone surrogate"
    if states(pattern) > MAX_STATES:
        return "unfolds to too many states; use fewer repetitions and Unicode classes"
    return None if _searched("", pattern) is not None else "is not a valid regular expression"


def matches(text: str, pattern: str) -> bool:
    """expr-09 (host): whether the pattern is found anywhere in the text, in time linear in the text."""
    problem = check_pattern(pattern)
    if problem is not None:
        raise invalid(f"The pattern {problem}.")
    if match_cost(text, pattern) > MAX_WORK:
        raise over_limit("The text is too long for this pattern.")
    found = _searched(text, pattern)
    if found is None:
        raise failed("The text cannot be searched.")
    return found


def match_cost(text: str, pattern: str) -> int:
    """What it costs to search a text, in units of MAX_WORK."""
    return states(pattern) * (COMPILING + MATCHING * (1 + len(text) // 8))


def _searched(text: str, pattern: str) -> bool | None:
    program, _ = _search()
    outcome, said = cel.run(program, {"text": text, "pattern": pattern})
    return None if said is not None else outcome.value()


@lru_cache(maxsize=1)
def _search() -> tuple[Any, bytes]:
    return cel.compiled("text.matches(pattern)", ("text", "pattern"))


def _unsure_sources(tree: Tree) -> list[bytes]:
    """What map and filter go over, unless its form shows that it is a list."""
    found = [each for child in children(tree) for each in _unsure_sources(child)]
    if isinstance(tree, Each) and tree.builds and not (isinstance(tree.source, Each) and tree.source.builds):
        found.append(tree.encoded_source)
    return found


def _bytes(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        pass
    raise invalid("The text holds a lone surrogate.")
