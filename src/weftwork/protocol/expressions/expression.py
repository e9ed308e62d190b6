"""Expressions over the data of a run, in CEL: parsing and evaluation.

Theory of operation. An expression is parsed when its workflow is registered, and evaluated when a node or an edge needs
its value. It reads JSON and returns JSON, has no access to a clock, randomness or I/O, and returns the same value for
the same scope in any process. An evaluation cannot be interrupted, so its cost is limited before it starts: source and
structure here and in `cost`, the values that it reads and returns in `values`. Messages of faults contain no value of
the run. The cost of patterns in expressions and in conditions of edges is limited as well.

Expressions control the path of a run, and their values are recorded. The CEL package is compiled code before version
1.0, and another build of it could silently return other values. The host therefore evaluates fixed expressions with
known results at every start. They cover arithmetic, strings and patterns, lists and objects, null, and the depth limit,
which the package enforces. Reaching its other limit, on iterated items, takes too long for a start; the tests cover it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

from weftwork.protocol.expressions import cel
from weftwork.protocol.expressions.cost import (
    COMPILE_UNITS_PER_STATE,
    EVALUATION_UNITS,
    MATCH_UNITS_PER_STATE,
    MAX_WORK,
    READ_UNITS,
    RESULT_UNITS,
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
from weftwork.protocol.expressions.values import (
    ANY_NUMBER,
    MAX_RESULT,
    ScopeReader,
    TooManyValues,
    result_to_json,
    weigh_reads,
)

SCOPE_NAMES: Final = ("inputs", "variables", "nodes", "configurable")
MAX_SOURCE: Final = 2048
"""Maximum length of the source in bytes of UTF-8."""
CACHED_EXPRESSIONS: Final = 512


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    source: str
    references: References
    local_names: tuple[str, ...] = field(repr=False)
    """The names that it may use in addition to SCOPE_NAMES."""
    _program: Any = field(repr=False)
    _cost: Cost = field(repr=False)
    reads: ReadTree = field(repr=False)
    _reads_per_item: ReadTree = field(repr=False)
    _members: frozenset[str] = field(repr=False)
    _iterated_programs: tuple[Any, ...] = field(repr=False)
    """Programs that compute the operands of map and filter which could be objects."""

    def reads_name(self, name: str) -> bool:
        return name in self.reads

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """The JSON value in this scope. Raises ExpressionFault, whose message contains no value of the scope."""
        return self.evaluate_with_budget(MAX_WORK, scope)[0]

    def evaluate_with_budget(self, budget: int, scope: Mapping[str, Any]) -> tuple[Any, int]:
        """The value, and the rest of the work budget. expr-06 (host): an evaluation whose bound exceeds the budget does
        not start and raises ExpressionFault.

        The bound does not include the cost of reading, because conditions of earlier versions were decided without it.
        """
        reader = ScopeReader()
        data = reader.read(scope, self.reads)
        per_item = weigh_reads(data, self._reads_per_item) if self._reads_per_item else 0
        work, max_weight = self._cost.estimate(reader.longest_list, reader.weight, per_item)
        if work > budget:
            raise expression_limit(TOO_MUCH_WORK)
        return self.compute(data, reader.has_null, max_weight), budget - work

    def prepare(self, scope: Mapping[str, Any], max_values: int = ANY_NUMBER) -> "Evaluation | None":
        """The evaluation in this scope, with the bounds of its cost. None if it reads more than `max_values` values.

        Raises ExpressionFault.
        """
        reader = ScopeReader(max_values)
        try:
            data = reader.read(scope, self.reads)
        except TooManyValues:
            return None
        longest, weight = reader.longest_list, reader.weight
        per_item = weigh_reads(data, self._reads_per_item) if self._reads_per_item else 0
        work, max_weight = self._cost.estimate(longest, weight, per_item)
        work += weight + self._cost.search_work(longest, weight, per_item)
        results = min(self._cost.result_values(longest, reader.values, min(per_item, reader.values)), MAX_RESULT)
        loop_units = EVALUATION_UNITS + work + READ_UNITS * reader.values + RESULT_UNITS * results
        return Evaluation(self, data, work, loop_units, reader.has_null, max_weight)

    def compute(self, data: dict[str, Any], has_null: bool, max_weight: int) -> Any:
        """The JSON value for data that a ScopeReader has copied. Raises ExpressionFault, and MemoryError in a process
        whose memory is limited."""
        for operand in self._iterated_programs:
            self._check_iterated(operand, data)
        outcome, error = cel.evaluate_program(self._program, data)
        if error is not None:
            raise evaluation_fault(error, self._members)
        return result_to_json(outcome, has_null or self._cost.has_null, max_weight)

    def _check_iterated(self, operand: Any, data: dict[str, Any]) -> None:
        """expr-11 (host): map and filter do not accept objects, because the order of members differs between
        processes."""
        outcome, error = cel.evaluate_program(operand, data)
        if error is None and cel.is_map_outcome(outcome):
            raise expression_failed("map and filter require a list; this value is an object.")


TOO_MUCH_WORK: Final = "The expression would take too long with values of this size."


class Evaluation(NamedTuple):
    """An evaluation whose cost is known and that has not started. It is computed at most once."""

    expression: Expression
    data: dict[str, Any]
    work: int
    """expr-12 (host): an upper bound of its work, which a WorkBudget is charged for."""
    loop_units: int
    """An upper bound of the time for which it occupies the thread, in units of work."""
    has_null: bool
    max_weight: int

    def compute(self) -> Any:
        """The JSON value. Raises ExpressionFault."""
        return self.expression.compute(self.data, self.has_null, self.max_weight)


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def parse_expression(source: str, local_names: tuple[str, ...] = ()) -> Expression:
    """expr-01 (host): an expression over SCOPE_NAMES and `local_names`. Raises ExpressionFault with the code
    `expression_invalid` or `expression_limit`."""
    if utf8_length(source) > MAX_SOURCE:
        raise expression_limit(f"The expression is longer than the limit of {MAX_SOURCE:,} bytes.")
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
    return Expression(source, read, local_names, program, cost, reads, within, frozenset(member_names(tree)), sources)


def _possible_map_sources(tree: Tree) -> list[bytes]:
    """The serialised operands of map and filter, except those that are lists by their form."""
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
    raise expression_invalid("The text contains a lone surrogate.")


MAX_PATTERN: Final = 1024
"""Maximum length of a pattern in bytes of UTF-8."""
MAX_PATTERN_STATES: Final = 20_000


def check_pattern(pattern: str) -> str | None:
    """Why a regular expression (RE2 syntax) is rejected; None if it is accepted."""
    try:
        if len(pattern.encode()) > MAX_PATTERN:
            return f"is longer than {MAX_PATTERN:,} bytes"
    except UnicodeEncodeError:
        return "contains a lone surrogate"
    if count_states(pattern) > MAX_PATTERN_STATES:
        return f"compiles to more than {MAX_PATTERN_STATES:,} states; use fewer repetitions and Unicode classes"
    return None if _search_text("", pattern) is not None else "is not a valid regular expression"


def matches(text: str, pattern: str) -> bool:
    """expr-09 (host): whether the pattern matches anywhere in the text, in time linear in the text's length."""
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
    """The cost of searching a text, in units of work."""
    return count_states(pattern) * (COMPILE_UNITS_PER_STATE + MATCH_UNITS_PER_STATE * (1 + len(text) // 8))


def _search_text(text: str, pattern: str) -> bool | None:
    program, _ = _search_program()
    outcome, error = cel.evaluate_program(program, {"text": text, "pattern": pattern})
    return None if error is not None else outcome.value()


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
"""Expressions with their expected values, or with the expected fault code."""


def check_evaluator() -> str | None:
    """The first wrong result of the CEL package as a message; None if all results are right.

    Takes a few milliseconds once the package is loaded.
    """
    for source, expected in CASES:
        result = _evaluate(source)
        # repr also compares types: 1, 1.0 and True are equal in Python but not in a log.
        if repr(result) != repr(expected):
            return f"`{source}` returns {result!r} instead of {expected!r}"
    return None


def _evaluate(source: str) -> Any:
    try:
        return parse_expression(source).evaluate(_SCOPE)
    except ExpressionFault as fault:
        return fault.code
    except Exception as error:
        return error
