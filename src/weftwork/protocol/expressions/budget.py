"""Work budgets: how much the expressions of one node entry, and the conditions behind one node, may cost.

Theory of operation. The bounds of an evaluation are known before it starts (`Expression.prepare`). There are two of
them. Its work is the cost of the program, and it is charged to the budget of the node entry: a run with these inputs
has the same budget left on every machine. Its loop units are the time for which it occupies a thread, including the
conversion of its values. They decide whether it may run on the event loop, and when the loop must yield.

A run is created with its limits. Runs of earlier versions have none: each of their expressions, and all conditions
behind a node, may cost MAX_WORK. Their logs fold as before.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from weftwork.protocol.expressions.cost import EVALUATION_UNITS, MAX_WORK, READ_UNITS
from weftwork.protocol.expressions.expression import TOO_MUCH_WORK, Expression
from weftwork.protocol.expressions.faults import expression_limit
from weftwork.protocol.limits import ExpressionLimits

MakeScope = Callable[[], Mapping[str, Any]]


class Evaluator(Protocol):
    """Evaluates the expressions of one node entry, which share a budget."""

    def evaluate(self, expression: Expression, scope: MakeScope) -> Any:
        """The value of an expression. Raises ExpressionFault.

        `scope` makes the values that the expression can read. It is not called if the value is known already.
        """
        ...


class WorkBudget:
    """The work that the expressions of one node entry may still cost together. Evaluates them at once.

    Without limits, each expression may cost MAX_WORK.
    """

    __slots__ = ("_limits", "left")

    def __init__(self, limits: ExpressionLimits | None) -> None:
        self._limits = limits
        self.left = MAX_WORK if limits is None else limits.entry_work

    def spend(self, work: int) -> None:
        """expr-12 (host): charge the budget for an evaluation before it starts. Raises ExpressionFault."""
        if work > self.left:
            limits = self._limits
            if limits is None or self.left == limits.entry_work:
                raise expression_limit(TOO_MUCH_WORK)
            raise expression_limit(
                f"The expressions of the node together exceed their limit of {limits.entry_work:,} units of work."
            )
        if self._limits is not None:
            self.left -= work

    def evaluate(self, expression: Expression, scope: MakeScope) -> Any:
        """Raises ExpressionFault."""
        evaluation = expression.prepare(scope())
        assert evaluation is not None, "the number of values is not limited"
        self.spend(evaluation.work)
        return evaluation.compute()


CONDITIONS_EXHAUSTED = "The conditions after this node together exceed their limit of work."


def evaluate_condition(expression: Expression, scope: Mapping[str, Any], left: int) -> tuple[Any, int]:
    """expr-13 (host): the value of a condition, and what is left of the loop units of all conditions behind the node.

    The fold evaluates conditions on the event loop, so they share one slice of it. Raises ExpressionFault.
    """
    evaluation = expression.prepare(scope, max(0, left - EVALUATION_UNITS) // READ_UNITS)
    if evaluation is None or evaluation.loop_units > left:
        raise expression_limit(CONDITIONS_EXHAUSTED)
    return evaluation.compute(), left - evaluation.loop_units


class FoldEvaluator:
    """Evaluates the expressions of a node inside the fold, where they get one slice of the event loop together."""

    __slots__ = ("_left", "units")

    def __init__(self, limits: ExpressionLimits | None) -> None:
        self._left = None if limits is None else limits.condition_work
        self.units = 0
        """The loop units of its evaluations so far."""

    def evaluate(self, expression: Expression, scope: MakeScope) -> Any:
        """Raises ExpressionFault."""
        if self._left is None:
            value, left = expression.evaluate_with_budget(MAX_WORK, scope())
            self.units += MAX_WORK - left
            return value
        value, left = evaluate_condition(expression, scope(), self._left)
        self.units += self._left - left
        self._left = left
        return value
