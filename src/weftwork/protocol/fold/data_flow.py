"""Data flow: the inputs of a node, the scope of its expressions, and their trust, derived from the folded state alone.

A port that the definition sets (to a literal, an expression, a variable or an output of another node) has that value;
other ports are filled by edges. A node in a loop sees the outputs of nodes that run later in the loop as they were in
the previous round, so the result does not depend on which node is faster.

Trust follows the data. A node becomes untrusted as soon as untrusted content reaches it: as an input, by an expression
in its config, as an answer, from a child run, or because it fetches external content itself. Everything that it
produces from then on is untrusted wherever it is read, also in a later round of a loop. Trust follows values, not
control flow: a condition on untrusted content does not mark later nodes as untrusted.

Source: RFC 0143.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from weftwork.protocol.expressions.budget import Evaluator, WorkBudget
from weftwork.protocol.expressions.expression import Expression, parse_expression
from weftwork.protocol.expressions.faults import LIMIT, ExpressionFault
from weftwork.protocol.expressions.syntax_tree import References, members_read
from weftwork.protocol.expressions.template import Template, parse_template
from weftwork.protocol.fold.state import RunState, UntrustedValues
from weftwork.protocol.fold.variable_views import INITIAL_STAMP
from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.values import ABSENT, Absent, is_array, is_object
from weftwork.protocol.privacy.trust import is_untrusted_boundary
from weftwork.protocol.run.events import APPROVAL_REMARK, EFFECT_CLAIMED, INTERRUPT_REMINDER, Draft, Fact
from weftwork.protocol.run.header import RunHeader
from weftwork.protocol.workflow.definition import Edge, Port
from weftwork.protocol.workflow.node_config import PORTS_NAME, config_references, variables_read


def visible_outputs(state: RunState, reader: str, node_id: str) -> dict[str, Any] | None:
    """data-06 (readings, Determinism): the outputs of a node as `reader` sees them; None if there are none.

    A reader that runs before the node in a loop sees the outputs of the previous round, even if the node has already
    completed in this round.
    """
    node = state.nodes.get(node_id)
    if node is None:
        return None
    if node_id in state.plan.nodes[reader].reads_previous_round:
        return node.previous_outputs
    return node.outputs if node.status == "completed" else None


def is_untrusted_output(state: RunState, reader: str, node_id: str) -> bool:
    """trust-02 (RFC 0143): whether the outputs that `visible_outputs` returns are untrusted."""
    node = state.nodes.get(node_id)
    if node is None:
        return False
    if node_id in state.plan.nodes[reader].reads_previous_round:
        return node.previous_untrusted
    return node.untrusted and node.status == "completed"


def reads_untrusted(state: RunState, node_id: str, read: References) -> bool:
    """trust-02: whether any value that these references read is untrusted, as the node sees it."""
    known = state.untrusted
    if known is None:
        return False
    view = state.nodes[node_id].view
    names = known.variables if read.variables is None else read.variables
    return (
        any(known.is_untrusted_variable(view, name) for name in names)
        or bool(known.inputs if read.inputs is None else known.inputs & read.inputs)
        or any(is_untrusted_output(state, node_id, name) for name in read.nodes)
    )


def expression_scope(state: RunState, node_id: str, read: References, own: bool = False) -> dict[str, Any]:
    """The variables of an expression, limited to the values that it reads.

    `own`: the expression is evaluated after the node has completed, so it also sees the node's own outputs.
    """
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
        outputs = node.outputs if own and name == node_id else visible_outputs(state, node_id, name)
        if outputs is not None:
            nodes[name] = {"outputs": outputs}
    configurable = state.header.configurable
    return {"inputs": inputs, "variables": variables, "nodes": nodes, "configurable": configurable}


class NodeScope:
    """The scope of one node; implements ports.nodes.Scope. Valid until the node records its next event."""

    __slots__ = ("_make_evaluator", "_node_id", "_ports", "_state", "_untrusted", "_view", "active_evaluator")

    def __init__(
        self,
        state: RunState,
        node_id: str,
        ports: dict[str, Any],
        untrusted: frozenset[str] = frozenset(),
        make_evaluator: Callable[[RunHeader], Evaluator] | None = None,
        evaluator: Evaluator | None = None,
    ) -> None:
        """`untrusted`: the ports with untrusted values. `evaluator`: the one that evaluated the ports of this entry;
        without it, `make_evaluator` makes one for the first expression."""
        self._untrusted = untrusted
        self._make_evaluator = make_evaluator
        self.active_evaluator = evaluator
        """The evaluator of this entry; None before its first expression."""
        self._state = state
        self._node_id = node_id
        self._ports = ports
        self._view = state.nodes[node_id].view

    @property
    def evaluator(self) -> Evaluator:
        """Evaluates all expressions of this entry."""
        if self.active_evaluator is None:
            header = self._state.header
            make = self._make_evaluator
            self.active_evaluator = WorkBudget(header.expression_limits) if make is None else make(header)
        return self.active_evaluator

    def variable(self, name: str, default: Any = None) -> Any:
        entry = self._view.get(name)
        return entry[1] if entry is not None else default

    def has_variable(self, name: str) -> bool:
        return name in self._view

    def reducer(self, channel: str) -> str | None:
        declared = self._state.plan.workflow.channels.get(channel)
        return declared.reducer if declared is not None else None

    def evaluate(self, source: str, more: Mapping[str, Any] | None = None) -> Any:
        given = {PORTS_NAME: self._ports, **(more or {})}
        expression = self._expression(source, given)

        def names() -> dict[str, Any]:
            return {**expression_scope(self._state, self._node_id, expression.references), **given}

        try:
            return self.evaluator.evaluate(expression, names)
        except ExpressionFault as fault:
            raise self._with_place(fault, source, given) from None

    def render(self, text: str, more: Mapping[str, Any] | None = None, wrap: Callable[[str], str] | None = None) -> str:
        given = {PORTS_NAME: self._ports, **(more or {})}
        template = self._parsed(text, given)
        if not isinstance(template, Template):
            template = parse_template(text, tuple(given))
        if template.is_plain:
            return template.text
        names = {**expression_scope(self._state, self._node_id, template.references), **given}

        def wrap_untrusted(part: Expression, value: str) -> str:
            return wrap(value) if wrap is not None and self._reads_untrusted(part, given) else value

        shown = None if wrap is None or self._state.untrusted is None else wrap_untrusted
        try:
            return template.render(names, shown, self.evaluator)
        except ExpressionFault as fault:
            raise self._with_place(fault, text, given) from None

    def _with_place(self, fault: ExpressionFault, text: str, given: dict[str, Any]) -> ExpressionFault:
        """expr-12: a limit that all expressions of the node share does not show by itself which of them exceeds it."""
        if fault.code != LIMIT:
            return fault
        pointer = _find_text(self._state.plan.nodes[self._node_id].node.config, text)
        item = f" for the item with the index {given['index']}" if isinstance(given.get("index"), int) else ""
        return ExpressionFault(fault.code, f"In /config{pointer or ''}{item}: {fault.message}")

    @property
    def untrusted(self) -> bool:
        return self._state.nodes[self._node_id].untrusted

    def is_untrusted(self, source: str, more: Mapping[str, Any] | None = None) -> bool:
        """trust-08: whether the value of an expression is, or is derived from, untrusted content."""
        if self._state.untrusted is None:
            return False
        given = {PORTS_NAME: self._ports, **(more or {})}
        return self._reads_untrusted(self._expression(source, given), given)

    def _reads_untrusted(self, expression: Expression, given: dict[str, Any]) -> bool:
        """Whether an expression reads an untrusted value.

        The trust of names that the node itself adds is not known, so they count as untrusted if the node is.
        """
        if reads_untrusted(self._state, self._node_id, expression.references):
            return True
        own = given[PORTS_NAME] is self._ports
        read = members_read(expression.reads, PORTS_NAME)
        if own and (self._untrusted if read is None else self._untrusted & read):
            return True
        others = [name for name in given if name != PORTS_NAME or not own]
        return self._state.nodes[self._node_id].untrusted and any(map(expression.reads_name, others))

    def _expression(self, source: str, given: dict[str, Any]) -> Expression:
        known = self._parsed(source, given)
        return known if isinstance(known, Expression) else parse_expression(source, tuple(given))

    def _parsed(self, text: str, given: dict[str, Any]) -> Expression | Template | None:
        return self._state.plan.nodes[self._node_id].node.config_expressions.get((text, frozenset(given)))


def _find_text(value: Any, text: str) -> str | None:
    """The pointer of a text in a config. By identity, because several members can have the same text."""
    if value is text:
        return ""
    members = value.items() if is_object(value) else enumerate(value) if is_array(value) else ()
    for name, member in members:
        if (below := _find_text(member, text)) is not None:
            return f"/{printable_token(str(name))}{below}"
    return None


class MissingInput(msgspec.Struct, frozen=True):
    port: str
    source: str


class FailedInput(msgspec.Struct, frozen=True):
    """The expression of a port failed."""

    port: str
    code: str
    message: str


def resolve_inputs(
    state: RunState, node_id: str, evaluator: Evaluator | None = None
) -> dict[str, Any] | MissingInput | FailedInput:
    """data-03 (readings, Data flow): the inputs by port. Ports that the definition does not set are filled by edges.

    `evaluator` may be None for a node without expressions in its ports.
    """
    place = state.plan.nodes[node_id]
    resolved: dict[str, Any] = {}
    for name, port in place.node.ports.items():
        try:
            value = _port_value(state, node_id, port, evaluator)
        except ExpressionFault as fault:
            return FailedInput(name, fault.code, fault.message)
        if not isinstance(value, Absent):
            resolved[name] = value
        elif not port.optional:
            source = port.variable or f"{port.node_id}.{port.output_key}"
            return MissingInput(name, source)
    for edge in _input_edges(state, node_id):
        if edge.target_input in place.node.ports or edge.target_input in resolved:
            continue
        value = edge_value(state, edge)
        if not isinstance(value, Absent):
            resolved[edge.target_input] = value
    return resolved


def edge_values(state: RunState, node_id: str) -> list[tuple[Edge, Any]]:
    """data-07 (readings, Data flow): the values of all incoming edges, in the order of the graph."""
    nodes = state.plan.nodes
    edges = sorted(nodes[node_id].incoming, key=lambda edge: (nodes[edge.source].index, edge.id))
    found = [(edge, edge_value(state, edge)) for edge in edges]
    return [(edge, value) for edge, value in found if not isinstance(value, Absent)]


def edge_value(state: RunState, edge: Edge) -> Any:
    """The value that an edge passes to its target; ABSENT if it was not taken or its output has no value."""
    node = state.nodes.get(edge.source)
    if node is None:
        return ABSENT
    outputs = node.outputs if node.status == "completed" else None
    if edge in state.plan.nodes[edge.target].back_edges:
        outputs = node.previous_outputs
    elif outputs is not None and state.settled_edges.get(edge.id, "completed") != "completed":
        outputs = None
    return ABSENT if outputs is None else outputs.get(edge.source_output, ABSENT)


def untrusted_inputs(state: RunState, node_id: str) -> frozenset[str]:
    """trust-02 (RFC 0143): the ports whose value is, or is derived from, untrusted content."""
    if state.untrusted is None:
        return frozenset()
    ports = state.plan.nodes[node_id].node.ports
    found = {name for name, port in ports.items() if _is_untrusted_port(state, node_id, port)}
    filled = set(ports)
    for edge in _input_edges(state, node_id):
        if edge.target_input not in filled and not isinstance(edge_value(state, edge), Absent):
            filled.add(edge.target_input)
            if _is_untrusted_edge(state, edge):
                found.add(edge.target_input)
    return frozenset(found)


def _is_untrusted_port(state: RunState, node_id: str, port: Port) -> bool:
    known = state.untrusted
    if known is None or port.type == "static":
        return False
    if port.type == "variable":
        return known.is_untrusted_variable(state.nodes[node_id].view, port.variable)
    if port.expression is not None:
        return reads_untrusted(state, node_id, port.expression.references)
    outputs = visible_outputs(state, node_id, port.node_id)
    return outputs is not None and port.output_key in outputs and is_untrusted_output(state, node_id, port.node_id)


def _is_untrusted_edge(state: RunState, edge: Edge) -> bool:
    node = state.nodes[edge.source]
    return node.previous_untrusted if edge in state.plan.nodes[edge.target].back_edges else node.untrusted


def _input_edges(state: RunState, node_id: str) -> list[Edge]:
    """The edges that can fill ports, in order of precedence: back-edges that fired for this round, then the others,
    both by id."""
    place = state.plan.nodes[node_id]
    edges = list(place.incoming) if len(place.incoming) < 2 else sorted(place.incoming, key=lambda edge: edge.id)
    if not place.back_edges:
        return edges
    fired = (
        state.fired_edges.get(place.counted_loop, frozenset()) if place.counted_loop is not None else frozenset[str]()
    )
    return [*sorted((edge for edge in place.back_edges if edge.id in fired), key=lambda edge: edge.id), *edges]


def _port_value(state: RunState, node_id: str, port: Port, evaluator: Evaluator | None) -> Any:
    if port.type == "static":
        return port.value
    if port.type == "variable":
        entry = state.nodes[node_id].view.get(port.variable)
        return entry[1] if entry is not None else ABSENT
    if port.expression is not None:
        names = partial(expression_scope, state, node_id, port.expression.references)
        return (evaluator or WorkBudget(None)).evaluate(port.expression, names)
    outputs = visible_outputs(state, node_id, port.node_id)
    return ABSENT if outputs is None else outputs.get(port.output_key, ABSENT)


def mark_untrusted(state: RunState, fact: Fact) -> None:
    """trust-03 (RFC 0143): marks the node of an untrusted fact, and the variable or answer in it, as untrusted.

    Called before the fact is folded.
    """
    known = state.untrusted
    if known is None:
        known = state.untrusted = UntrustedValues()
    node_id, payload = fact.node_id or "", fact.payload
    node = state.nodes.get(node_id)
    if node is not None:
        node.untrusted = True
    if fact.type == "variable.changed":
        stamp = INITIAL_STAMP if node is None else (node.epoch, state.plan.nodes[node_id].index, node_id)
        known.variables.setdefault(payload["name"], set()).add(stamp)
    elif fact.type == "interrupt.resolved":
        known.answers.add(state.interrupts[payload["interruptId"]].key)


def given_untrusted(header: RunHeader) -> tuple[str, ...]:
    """trust-05 (RFC 0143): the inputs of a child run, or of a fork of one, that its parent had from untrusted
    content."""
    if header.parent is not None:
        return header.parent.untrusted
    return header.fork.untrusted if header.fork is not None else ()


def initialize_trust(state: RunState) -> None:
    """trust-05 (RFC 0143), trust-09: marks the inputs of a run whose `run.started` is untrusted: all of them inside an
    untrusted boundary, else those that were untrusted in the parent of a child run."""
    header = state.header
    given = given_untrusted(header)
    names = frozenset(state.inputs if is_untrusted_boundary(header.configurable) else given)
    state.untrusted = UntrustedValues({name: {INITIAL_STAMP} for name in names}, inputs=names)


def is_given_untrusted(state: RunState, node_id: str) -> bool:
    """trust-02 (RFC 0143): whether a node that starts reads untrusted content or fetches external content."""
    node, known = state.plan.nodes[node_id].node, state.untrusted
    if node.external_content:
        if known is None:
            state.untrusted = UntrustedValues()
        return True
    if known is None:
        return False
    here = state.nodes[node_id]
    return (
        bool(untrusted_inputs(state, node_id))
        or (
            node.declaration.gathers_edges
            and any(_is_untrusted_edge(state, edge) for edge, _ in edge_values(state, node_id))
        )
        or any(reads_untrusted(state, node_id, read) for read in config_references(node))
        or any(known.is_untrusted_variable(here.view, name) for name in variables_read(node))
        or node.interrupt_key in known.answers
        or (here.decision is not None and here.decision.untrusted)
    )


CONTENT_FREE_TYPES: Final = frozenset({EFFECT_CLAIMED, INTERRUPT_REMINDER, "provider.usage"}).union(
    "node.started node.resumed node.skipped node.cancelled run.cancelled version.pinned".split()
)
"""Event types whose payload contains no data of the node. `cap.breached` is not one of them: its limit and number are
the host's, but untrusted content may have caused it, and every event that an envelope causes has its trust."""
ANSWER_TYPES: Final = frozenset({APPROVAL_REMARK, "interrupt.resolved", "clarification.resolved"}).union(
    "approval.received approval.granted approval.rejected approval.overridden".split()
)
"""Event types whose payload contains an answer. Their trust is that of the person or system that answered."""


def carries_untrusted(state: RunState, draft: Draft) -> bool:
    """trust-06 (RFC 0021): whether the payload of an event contains data of an untrusted node.

    Called only for runs with untrusted content.
    """
    kind = draft.type
    if kind in CONTENT_FREE_TYPES or kind in ANSWER_TYPES:
        return False
    if draft.node_id is not None:
        return _is_untrusted_node(state, draft.node_id)
    if kind == "run.completed":
        return _has_untrusted_output(state, draft.payload["outputs"])
    return kind == "run.failed" and _is_untrusted_node(state, draft.payload.get("failedNodeId", ""))


def is_child_result_untrusted(state: RunState, outcome: dict[str, Any]) -> bool:
    """trust-05 (RFC 0143): whether the result that an ended child returns to its parent is untrusted."""
    known = state.untrusted
    if known is None:
        return False
    if any(known.is_untrusted_final(state.variable_stamps, name) for name in outcome.get("variables", ())):
        return True
    if "error" in outcome:
        return any(node.untrusted and node.status == "failed" for node in state.nodes.values())
    return "outputs" in outcome and _has_untrusted_output(state, state.outputs or {})


def _has_untrusted_output(state: RunState, outputs: dict[str, Any]) -> bool:
    return any(_is_untrusted_node(state, node_id) for node_id in outputs)


def _is_untrusted_node(state: RunState, node_id: str) -> bool:
    node = state.nodes.get(node_id)
    return node is not None and node.untrusted
