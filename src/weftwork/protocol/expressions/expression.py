"""Expressions over a run, in CEL: parsing and evaluation.

Theory. An expression is parsed when its workflow is registered, and evaluated when a node or an edge needs its value.
It reads JSON and returns JSON, has no access to a clock, randomness or I/O, and returns the same value for the same
scope in any process. It cannot be interrupted, so everything about it is bounded before it starts: its source and its
shape here and in `cost`, what it reads and what it returns in `values`. The messages of faults contain no value of the
run. Patterns in expressions and in conditions of edges have a bounded cost as well.

Expressions decide which way a run goes, and their values are recorded. The package underneath is compiled code before
1.0, so another build of it could return other values without an error; fixed expressions with known results are
therefore evaluated whenever a host starts. The cases cover what runs rely on: arithmetic, text and patterns, lists and
objects, null, and the limit of depth, which the package itself keeps. Its other limit, on the items that are walked
over, takes too long to reach for a start; the tests reach it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from weftwork.protocol.expressions import cel
from weftwork.protocol.expressions.cost import (
    COMPILE_UNITS_PER_STATE,
    MATCH_UNITS_PER_STATE,
    MAX_WORK,
    Cost,
    cost_of,
    count_states,
)
from weftwork.protocol.expressions.faults import (
    FAILED,
    INVALID,
    LIMIT,
    ExpressionFault,
    evaluation_fault,
    expression_failed,
    expression_invalid,
    expression_limit,
)
from weftwork.protocol.expressions.syntax_tree import (
    Comprehension,
    ReadTree,
    References,
    Tree,
    children,
    find_reads,
    member_names,
    read_tree,
    references_from,
)
from weftwork.protocol.expressions.values import ScopeReader, result_to_json, weigh_reads

SCOPE_NAMES: Final = ("inputs", "variables", "nodes", "configurable")
MAX_SOURCE: Final = 2048
"""Bytes of UTF-8."""
CACHED_EXPRESSIONS: Final = 512


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    source: str
    references: References
    _program: Any = field(repr=False)
    _cost: Cost = field(repr=False)
    reads: ReadTree = field(repr=False)
    _reads_per_item: ReadTree = field(repr=False)
    _members: frozenset[str] = field(repr=False)
    _iterated_programs: tuple[Any, ...] = field(repr=False)
    """Programs for what map and filter go over, where it could be an object."""

    def reads_name(self, name: str) -> bool:
        return name in self.reads

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """The JSON value in this scope. Raises ExpressionFault; its message holds no value of the scope."""
        return self.evaluate_with_budget(MAX_WORK, scope)[0]

    def evaluate_with_budget(self, budget: int, scope: Mapping[str, Any]) -> tuple[Any, int]:
        """The value, and what is left of a budget of work. expr-06 (host): what could go over it does not start."""
        intake = ScopeReader()
        data = intake.read(scope, self.reads)
        within = weigh_reads(data, self._reads_per_item) if self._reads_per_item else 0
        work, most = self._cost.estimate(intake.longest_list, intake.weight, within)
        if work > budget:
            raise expression_limit("The expression would take too long over values of this size.")
        for source in self._iterated_programs:
            self._check_iterated(source, data)
        outcome, said = cel.evaluate_program(self._program, data)
        if said is not None:
            raise evaluation_fault(said, self._members)
        nulls = intake.has_null or self._cost.has_null
        return result_to_json(outcome, nulls, most), budget - work

    def _check_iterated(self, source: Any, data: dict[str, Any]) -> None:
        """expr-11 (host): members have another order in every process, so no list is gathered from them."""
        outcome, said = cel.evaluate_program(source, data)
        if said is None and cel.is_map_outcome(outcome):
            raise expression_failed("map and filter go over lists; this is an object.")


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def parse_expression(source: str, local_names: tuple[str, ...] = ()) -> Expression:
    """expr-01 (host): an expression over SCOPE_NAMES and the local names. Raises ExpressionFault, invalid or limit."""
    if utf8_length(source) > MAX_SOURCE:
        raise expression_limit(f"An expression is at most {MAX_SOURCE:,} bytes long.")
    names = SCOPE_NAMES + tuple(name for name in local_names if name not in SCOPE_NAMES)
    program, encoded = cel.compile_program(source, names)
    tree = read_tree(encoded)
    reads = find_reads(tree, names)
    read = references_from(reads)
    cost = cost_of(tree)
    problem = next(filter(None, map(check_pattern, cost.patterns)), None)
    if problem is not None:
        raise expression_invalid(f"The pattern of `matches` {problem}.")
    sources = tuple(cel.load_part(each, names) for each in _possible_map_sources(tree))
    within = find_reads(tree, names, within=True)
    return Expression(source, read, program, cost, reads, within, frozenset(member_names(tree)), sources)


def _possible_map_sources(tree: Tree) -> list[bytes]:
    """What map and filter go over, unless its form shows that it is a list."""
    found = [each for child in children(tree) for each in _possible_map_sources(child)]
    if (
        isinstance(tree, Comprehension)
        and tree.builds_list
        and not (isinstance(tree.source, Comprehension) and tree.source.builds_list)
    ):
        found.append(tree.encoded_source)
    return found


def utf8_length(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        pass
    raise expression_invalid("The text holds a lone surrogate.")


MAX_PATTERN: Final = 1024
"""Bytes of UTF-8."""
MAX_PATTERN_STATES: Final = 20_000


def check_pattern(pattern: str) -> str | None:
    """What is wrong with a regular expression (RE2 syntax), None if nothing is."""
    try:
        if len(pattern.encode()) > MAX_PATTERN:
            return f"is longer than {MAX_PATTERN:,} bytes"
    except UnicodeEncodeError:
        return "holds a lone surrogate"
    if count_states(pattern) > MAX_PATTERN_STATES:
        return "unfolds to too many states; use fewer repetitions and Unicode classes"
    return None if _search_text("", pattern) is not None else "is not a valid regular expression"


def matches(text: str, pattern: str) -> bool:
    """expr-09 (host): whether the pattern is found anywhere in the text, in time linear in the text."""
    problem = check_pattern(pattern)
    if problem is not None:
        raise expression_invalid(f"The pattern {problem}.")
    if match_cost(text, pattern) > MAX_WORK:
        raise expression_limit("The text is too long for this pattern.")
    found = _search_text(text, pattern)
    if found is None:
        raise expression_failed("The text cannot be searched.")
    return found


def match_cost(text: str, pattern: str) -> int:
    """What it costs to search a text, in units of MAX_WORK."""
    return count_states(pattern) * (COMPILE_UNITS_PER_STATE + MATCH_UNITS_PER_STATE * (1 + len(text) // 8))


def _search_text(text: str, pattern: str) -> bool | None:
    program, _ = _search_program()
    outcome, said = cel.evaluate_program(program, {"text": text, "pattern": pattern})
    return None if said is not None else outcome.value()


@lru_cache(maxsize=1)
def _search_program() -> tuple[Any, bytes]:
    return cel.compile_program("text.matches(pattern)", ("text", "pattern"))


_SCOPE: Final = {"inputs": {"price": 20.5, "word": "élan", "items": [3, 1, 2], "deep": {"b": [True], "a": None}}}

CASES: Final[tuple[tuple[str, Any], ...]] = (
    ("inputs.price * 2.0 + 1.0", 42),
    ("7 / 2 * 10 + 7 % 4", 33),
    ("inputs.word + '-' + string(size(inputs.word))", "élan-4"),
    ("inputs.word.matches('^[a-zé]{4}$')", True),
    ("inputs.items.filter(i, i > 1.0).map(i, i * 2.0)", [6, 4]),
    ("inputs.items.exists_one(i, i == 3.0) ? inputs.deep : {}", {"a": None, "b": [True]}),
    ("has(inputs.deep.c) || 'x' in ['y'] ? 'yes' : 'no'", "no"),
    ("1 / 0", FAILED),
    ("inputs.word + 1.0", FAILED),
    ("inputs.", INVALID),
    ("outputs.price", INVALID),
    ("(" * 40 + "1" + ")" * 40, LIMIT),
)
"""Source -> its value, or the code of its fault."""


def check_evaluator() -> str | None:
    """What the evaluator does wrong, None if nothing is. Takes a few milliseconds once the package is loaded."""
    for source, expected in CASES:
        result = _evaluate(source)
        # Types count as well: 1, 1.0 and True are equal in Python, and differ in a log.
        if repr(result) != repr(expected):
            return f"`{source}` gives {result!r} instead of {expected!r}"
    return None


def _evaluate(source: str) -> Any:
    try:
        return parse_expression(source).evaluate(_SCOPE)
    except ExpressionFault as fault:
        return fault.code
    except Exception as error:
        return error
