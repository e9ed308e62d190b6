"""Node types that choose which edges a run follows: conditional, switch, loop."""

from typing import Any, Final

from weftwork.adapters.nodes.call_inputs import evaluate, fail_on_expression_fault
from weftwork.adapters.nodes.schemas import (
    any_value,
    closed_object,
    expression_string,
    fixed_ports,
    integer,
    keyed_object,
    name_string,
    port_schema,
    reference_notes,
    typed,
)
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall, NodeType
from weftwork.protocol.json.canonical import encode_canonical
from weftwork.protocol.workflow.node_types import NodeDeclaration

MAX_TIMES: Final = 1_000_000


@fail_on_expression_fault
def _conditional(call: NodeCall) -> NodeOutcome:
    result = evaluate(call, call.config["expression"])
    if not isinstance(result, bool):
        return _not_boolean("expression")
    value = _pass_through(call, result)
    return Completed({"result": result, "output": value, "true" if result else "false": value})


@fail_on_expression_fault
def _switch(call: NodeCall) -> NodeOutcome:
    """Definitions are kept with their members sorted, so the order of cases can only be that of their names."""
    value = evaluate(call, call.config["expression"])
    cases = call.config["cases"]
    wanted = encode_canonical(value)
    port = next((each for each in sorted(cases) if encode_canonical(cases[each]) == wanted), None)
    port = call.config.get("default") if port is None else port
    if port is None:
        message = "No case equals the value of the expression, and there is no default."
        return Failed("switch_no_match", message, retryable=False)
    output = _pass_through(call, value)
    return Completed({"value": value, "output": output, port: output})


@fail_on_expression_fault
def _loop(call: NodeCall) -> NodeOutcome:
    config, iteration = call.config, call.iteration
    again: Any = iteration < config.get("times", iteration + 1)
    if again and "while" in config:
        again = evaluate(call, config["while"], iteration=iteration)
        if not isinstance(again, bool):
            return _not_boolean("while")
    return Completed({"iteration": iteration, "body" if again else "done": _pass_through(call, iteration)})


def _not_boolean(member: str) -> Failed:
    message = f"The value of the {member} is neither true nor false."
    return Failed("condition_not_boolean", message, {"pointer": f"/config/{member}"}, retryable=False)


def _pass_through(call: NodeCall, instead: Any) -> Any:
    """What a node that only looks gives to the way it chose: its input, or what it looked at."""
    return call.inputs.get("input", instead)


_INPUT: Final = port_schema(input=any_value("Handed on to the way that is chosen."))

BRANCHING_NODES: Final[tuple[NodeType, ...]] = (
    InstantNode(
        NodeDeclaration(
            "core.conditional",
            "Goes one of two ways, by an expression that is true or false.",
            branching=True,
            inputs=_INPUT,
            outputs=fixed_ports(
                result=typed("boolean", "The value of the expression."),
                output=any_value("The input `input`, or the result where there is none."),
                true=any_value("The same as `output`; given only if the result is true."),
                false=any_value("The same as `output`; given only if the result is false."),
            ),
            config=closed_object("expression", expression=expression_string("Decides; its value is true or false.")),
            expressions={"/expression": ()},
            notes=reference_notes(
                """
Edges from `true` and from `false` are the two ways; the way not taken is skipped. An edge from `output` is taken in
both cases. An expression with any other value fails the node with `condition_not_boolean`.
""",
                "core.conditional",
                {"expression": "ports.input.total > 100.0"},
                {"input": {"type": "variable", "variableName": "order"}},
            ),
        ),
        _conditional,
    ),
    InstantNode(
        NodeDeclaration(
            "core.switch",
            "Goes one of many ways, by the value of an expression.",
            branching=True,
            inputs=_INPUT,
            outputs=port_schema(
                value=any_value("The value of the expression."),
                output=any_value("The input `input`, or the value where there is none."),
            ),
            config=closed_object(
                "expression",
                "cases",
                expression=expression_string("Its value is looked for among the cases."),
                cases=keyed_object(
                    any_value("The value this port is chosen for."),
                    "Output port -> value. Any name but `value` and `output`.",
                    "value",
                    "output",
                ),
                default={
                    **name_string("The output port to choose if no case fits."),
                    "not": {"enum": ["value", "output"]},
                },
            ),
            expressions={"/expression": ()},
            notes=reference_notes(
                """
The port of the case that equals the value gets the same value as `output`; edges from the other ports are skipped.
Values are equal as JSON: `1` and `1.0` are, `1` and `"1"` are not, and the order of members does not count. If
several cases are equal, the first by name is chosen, whatever their order in the document. Without a case that fits
and without `default` the node fails with `switch_no_match`.
""",
                "core.switch",
                {
                    "expression": "ports.input.country",
                    "cases": {"domestic": "CH", "neighbour": "DE"},
                    "default": "abroad",
                },
                {"input": {"type": "variable", "variableName": "order"}},
            ),
        ),
        _switch,
    ),
    InstantNode(
        NodeDeclaration(
            "core.loop",
            "The head of a loop: goes round, or is done.",
            branching=True,
            inputs=_INPUT,
            outputs=fixed_ports(
                iteration=typed("integer", "How often the body has run so far."),
                body=any_value("The input `input`, or the iteration; given only if the loop goes round."),
                done=any_value("The same; given only if the loop is done."),
            ),
            config=closed_object(
                rules={"minProperties": 1},
                times=integer(0, MAX_TIMES, "The body runs at most so often."),
                **{"while": expression_string("The body runs as long as this is true. `iteration` counts from 0.")},
            ),
            expressions={"/while": ("iteration",)},
            notes=reference_notes(
                """
An edge from `body` leads to the first node of the body, and an edge from the last one leads back here; an edge from
`done` leads on. Nothing should be joined to `output`. With `times` and `while` the loop is done as soon as one of
them says so. `while` is asked before each round, and a value that is neither true nor false fails the node with
`condition_not_boolean`. Rounds also count against the `maxLoopbackIterations` of the definition.
""",
                "core.loop",
                {"times": 3, "while": "variables.state != 'ready'"},
            ),
        ),
        _loop,
    ),
)
