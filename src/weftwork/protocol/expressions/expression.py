"""Expressions over a run, in CEL, and templates that hold them.

Theory. An expression is parsed when its workflow is registered and evaluated when a node or an edge needs its value.
It sees JSON and gives JSON, knows no clock, chance or outside, and gives the same value for the same scope in any
process. It cannot be interrupted, so everything about it is bounded before it starts: its source and its shape
here and in expression_cost, what it reads and what it gives in expression_value. Faults say what is wrong in words
that hold no value of the run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from weftwork.protocol.expressions import cel
from weftwork.protocol.expressions.cost import MAX_WORK, Cost, cost_of
from weftwork.protocol.expressions.faults import failed, failure, invalid, over_limit
from weftwork.protocol.expressions.patterns import check_pattern
from weftwork.protocol.expressions.reads import Reads, References, member_names, reads_of, references
from weftwork.protocol.expressions.syntax_tree import Each, Tree, children, read_tree
from weftwork.protocol.expressions.values import Intake, json_value, read_part

NAMES: Final = ("inputs", "variables", "nodes", "configurable")
MAX_SOURCE: Final = 2048
"""Bytes of UTF-8."""
KEPT: Final = 512
"""Parsed expressions that are remembered."""


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


@lru_cache(maxsize=KEPT)
def parse_expression(source: str, local_names: tuple[str, ...] = ()) -> Expression:
    """expr-01 (host): an expression over NAMES and the local names. Raises ExpressionFault, invalid or limit."""
    if utf8_length(source) > MAX_SOURCE:
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


def _unsure_sources(tree: Tree) -> list[bytes]:
    """What map and filter go over, unless its form shows that it is a list."""
    found = [each for child in children(tree) for each in _unsure_sources(child)]
    if isinstance(tree, Each) and tree.builds and not (isinstance(tree.source, Each) and tree.source.builds):
        found.append(tree.encoded_source)
    return found


def utf8_length(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        pass
    raise invalid("The text holds a lone surrogate.")
