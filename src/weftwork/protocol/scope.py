"""Scope: what a node, or an edge behind it, sees of its run. Taken from the fold and from nowhere else."""

from collections.abc import Callable, Mapping
from typing import Any

from weftwork.protocol.expression import MAX_WORK, Expression, References, Template, parse_expression, parse_template
from weftwork.protocol.formulas import PORTS
from weftwork.protocol.state import RunState


def output_of(state: RunState, reader: str, node_id: str) -> dict[str, Any] | None:
    """data-06 (readings, Determinism): the outputs of a node as another one sees them, None if there are none.

    What comes round a loop is seen as it was in the round before, however fast it is in this one.
    """
    node = state.nodes.get(node_id)
    if node is None:
        return None
    if node_id in state.plan.nodes[reader].earlier:
        return node.previous
    return node.outputs if node.status == "completed" else None


def is_untrusted_output(state: RunState, reader: str, node_id: str) -> bool:
    """trust-02 (RFC 0143): whether the outputs that it sees so came from outside, or are made of such."""
    node = state.nodes.get(node_id)
    if node is None:
        return False
    if node_id in state.plan.nodes[reader].earlier:
        return node.distrusted
    return node.untrusted and node.status == "completed"


def reads_untrusted(state: RunState, node_id: str, read: References) -> bool:
    """trust-02: whether something untrusted stands behind these names, as that node sees them."""
    known = state.untrusted
    if known is None:
        return False
    view = state.nodes[node_id].view
    names = known.variables if read.variables is None else read.variables
    return (
        any(known.is_variable(view, name) for name in names)
        or bool(known.inputs if read.inputs is None else known.inputs & read.inputs)
        or any(is_untrusted_output(state, node_id, name) for name in read.nodes)
    )


def names_for(state: RunState, node_id: str, read: References, own: bool = False) -> dict[str, Any]:
    """The names of an expression, with no more behind them than it reads. `own`: it stands behind that node."""
    node = state.nodes[node_id]
    view = node.view
    if read.variables is None:
        variables = {name: value for name, (_, value) in view.items()}
    else:
        variables = {name: view[name][1] for name in read.variables if name in view}
    if read.inputs is None:
        inputs = state.inputs
    else:
        inputs = {name: state.inputs[name] for name in read.inputs if name in state.inputs}
    nodes: dict[str, Any] = {}
    for name in read.nodes:
        outputs = node.outputs if own and name == node_id else output_of(state, node_id, name)
        if outputs is not None:
            nodes[name] = {"outputs": outputs}
    configurable = state.header.configurable
    return {"inputs": inputs, "variables": variables, "nodes": nodes, "configurable": configurable}


class NodeScope:
    """The scope of one node; implements ports.nodes.Scope. Good while the node's start is the newest word on it."""

    __slots__ = ("_left", "_node_id", "_ports", "_state", "_untrusted", "_view")

    def __init__(
        self,
        state: RunState,
        node_id: str,
        ports: dict[str, Any],
        once: bool = False,
        untrusted: frozenset[str] = frozenset(),
    ) -> None:
        """`once`: all expressions of the node share one budget, because it answers in one go. `untrusted`: ports."""
        self._untrusted = untrusted
        self._left = MAX_WORK if once else None
        self._state = state
        self._node_id = node_id
        self._ports = ports
        self._view = state.nodes[node_id].view

    def variable(self, name: str, default: Any = None) -> Any:
        entry = self._view.get(name)
        return entry[1] if entry is not None else default

    def has_variable(self, name: str) -> bool:
        return name in self._view

    def reducer(self, channel: str) -> str | None:
        declared = self._state.plan.workflow.channels.get(channel)
        return declared.reducer if declared is not None else None

    def evaluate(self, source: str, more: Mapping[str, Any] | None = None) -> Any:
        given = {PORTS: self._ports, **(more or {})}
        expression = self._known(source, given)
        if not isinstance(expression, Expression):
            expression = parse_expression(source, tuple(given))
        names = {**names_for(self._state, self._node_id, expression.references), **given}
        if self._left is None:
            return expression.evaluate(names)
        value, self._left = expression.evaluate_within(self._left, names)
        return value

    def render(self, text: str, more: Mapping[str, Any] | None = None, wrap: Callable[[str], str] | None = None) -> str:
        given = {PORTS: self._ports, **(more or {})}
        template = self._known(text, given)
        if not isinstance(template, Template):
            template = parse_template(text, tuple(given))
        names = {**names_for(self._state, self._node_id, template.references), **given}
        if wrap is None or self._state.untrusted is None:
            return template.render(names)
        return template.render(names, lambda part, shown: wrap(shown) if self._reads(part, given) else shown)

    def is_untrusted(self, source: str, more: Mapping[str, Any] | None = None) -> bool:
        """trust-08: whether the value of an expression came from outside, or is made of something that did."""
        if self._state.untrusted is None:
            return False
        given = {PORTS: self._ports, **(more or {})}
        expression = self._known(source, given)
        if not isinstance(expression, Expression):
            expression = parse_expression(source, tuple(given))
        return self._reads(expression, given)

    def _reads(self, expression: Expression, given: dict[str, Any]) -> bool:
        """Whether it reads something untrusted. Of names that the node itself gives, nobody knows but the node."""
        if reads_untrusted(self._state, self._node_id, expression.references):
            return True
        own = given[PORTS] is self._ports
        read = expression.members(PORTS)
        if own and (self._untrusted if read is None else self._untrusted & read):
            return True
        others = [name for name in given if name != PORTS or not own]
        return self._state.nodes[self._node_id].untrusted and any(map(expression.reads, others))

    def _known(self, text: str, given: dict[str, Any]) -> Expression | Template | None:
        """What was parsed with the definition."""
        return self._state.plan.nodes[self._node_id].node.formulas.get((text, frozenset(given)))
