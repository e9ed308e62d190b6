"""Expressions over a run, in CEL: parsing and evaluation.

Theory. An expression is parsed when its workflow is registered, and evaluated when a node or an edge needs its value.
It reads JSON and returns JSON, has no access to a clock, randomness or I/O, and returns the same value for the same
scope in any process. It cannot be interrupted, so everything about it is bounded before it starts: its source and its
shape here and in `cost`, what it reads and what it returns in `values`. The messages of faults contain no value of the
run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from weftwork.protocol.expressions import cel
from weftwork.protocol.expressions.cost import MAX_WORK, Cost, cost_of
from weftwork.protocol.expressions.faults import (
    evaluation_fault,
    expression_failed,
    expression_invalid,
    expression_limit,
)
from weftwork.protocol.expressions.patterns import check_pattern
from weftwork.protocol.expressions.reads import ReadTree, References, find_reads, member_names, references_from
from weftwork.protocol.expressions.syntax_tree import Comprehension, Tree, children, read_tree
from weftwork.protocol.expressions.values import ScopeReader, result_to_json, weigh_reads

SCOPE_NAMES: Final = ("inputs", "variables", "nodes", "configurable")
MAX_SOURCE: Final = 2048
"""Bytes of UTF-8."""
CACHED_EXPRESSIONS: Final = 512
"""Parsed expressions that are remembered."""


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """A parsed expression. Immutable."""

    source: str
    references: References
    _program: Any = field(repr=False)
    _cost: Cost = field(repr=False)
    _reads: ReadTree = field(repr=False)
    _reads_per_item: ReadTree = field(repr=False)
    _members: frozenset[str] = field(repr=False)
    _iterated_programs: tuple[Any, ...] = field(repr=False)
    """Programs for what map and filter go over, where it could be an object."""

    def members_read(self, name: str) -> frozenset[str] | None:
        """What of a name is read: these members of it, or all if None."""
        below = self._reads.get(name)
        return None if below == {} else frozenset(below or ())

    def reads_name(self, name: str) -> bool:
        """Whether it reads anything of a name."""
        return name in self._reads

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """The JSON value in this scope. Raises ExpressionFault; its message holds no value of the scope."""
        return self.evaluate_with_budget(MAX_WORK, scope)[0]

    def evaluate_with_budget(self, budget: int, scope: Mapping[str, Any]) -> tuple[Any, int]:
        """The value, and what is left of a budget of work. expr-06 (host): what could go over it does not start."""
        intake = ScopeReader()
        data = intake.read(scope, self._reads)
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
