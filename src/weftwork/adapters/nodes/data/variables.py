"""Node types that read and write the data of a run: variables, channels, transform, template."""

from typing import Final

from weftwork.adapters.nodes.call_inputs import evaluate, fail_on_expression_fault, input_value, missing_input, render
from weftwork.adapters.nodes.schemas import (
    any_value,
    closed_object,
    expression_string,
    fixed_ports,
    integer,
    keyed_object,
    name_string,
    one_of,
    port_schema,
    reference_notes,
    template_string,
    typed,
)
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome, SetVariable, WriteChannel
from weftwork.ports.nodes import InstantNode, NodeCall, NodeType
from weftwork.protocol.json.values import ABSENT
from weftwork.protocol.workflow.channels import EXPIRING_REDUCERS, MAX_CHANNEL_NAME, REDUCERS
from weftwork.protocol.workflow.node_types import NodeDeclaration

MAX_TTL_MS: Final = 365 * 86_400_000
MAX_CHANNEL_ITEMS: Final = 100_000


def _set_variable(call: NodeCall) -> NodeOutcome:
    value = input_value(call, "value")
    if value is ABSENT:
        return missing_input("value")
    return Completed({"output": value}, (SetVariable(call.config["name"], value),))


def _get_variable(call: NodeCall) -> NodeOutcome:
    variable = call.config["name"]
    if call.scope.has_variable(variable):
        return Completed({"output": call.scope.variable(variable)})
    if "default" in call.config:
        return Completed({"output": call.config["default"]})
    return Failed("variable_not_set", f"The variable {variable} has no value.", retryable=False)


def _channel_write(call: NodeCall) -> NodeOutcome:
    """node-04 (OpenWOP channels): a channel need not be declared; the config's reducer is for one that is not."""
    value = input_value(call, "value")
    if value is ABSENT:
        return missing_input("value")
    write = WriteChannel(call.config["channelName"], value, call.config.get("reducer", "append"))
    return Completed({"output": value}, (write,))


@fail_on_expression_fault
def _transform(call: NodeCall) -> NodeOutcome:
    if "expression" in call.config:
        return Completed({"output": evaluate(call, call.config["expression"])})
    return Completed({port: evaluate(call, source) for port, source in call.config["fields"].items()})


@fail_on_expression_fault
def _template(call: NodeCall) -> NodeOutcome:
    return Completed({"output": render(call, call.config["template"])})


_VALUE_PORTS: Final = port_schema(
    value=any_value("The value; wins over the config."),
    input=any_value("The value, if neither the port `value` nor the config has one."),
)

DATA_NODES: Final[tuple[NodeType, ...]] = (
    InstantNode(
        NodeDeclaration(
            "core.setVariable",
            "Gives a variable of the run a value.",
            inputs=_VALUE_PORTS,
            outputs=fixed_ports(output=any_value("The value.")),
            config=closed_object(
                "name", name=name_string("The variable."), value=any_value("The value, if no port brings one.")
            ),
            sets_variable="name",
            notes=reference_notes(
                """
The value is the first of the port `value`, the config `value` and the port `input`; without any of them the node
fails with `node_input_missing`. Null is a value. A value that does not have the declared type of the variable fails
the node. What this node computes with is best written as an expression port.
""",
                "core.setVariable",
                {"name": "attempts"},
                {"value": {"type": "expression", "expression": "variables.attempts + 1.0"}},
            ),
        ),
        _set_variable,
    ),
    InstantNode(
        NodeDeclaration(
            "core.getVariable",
            "Gives the value of a variable of the run.",
            outputs=fixed_ports(output=any_value("The value.")),
            config=closed_object(
                "name", name=name_string("The variable."), default=any_value("Given if the variable has no value.")
            ),
            reads_variable="name",
            notes=reference_notes(
                """
The value is the one at the moment the node starts. A variable without a value and without `default` fails the node
with `variable_not_set`. A variable that is null has a value.
""",
                "core.getVariable",
                {"name": "locale", "default": "en"},
            ),
        ),
        _get_variable,
    ),
    InstantNode(
        NodeDeclaration(
            "core.channelWrite",
            "Writes a value to a channel of the run.",
            inputs=_VALUE_PORTS,
            outputs=fixed_ports(output=any_value("The value, as it was written.")),
            config=closed_object(
                "channelName",
                rules={"dependentSchemas": {"ttlMs": {"properties": {"reducer": {"enum": sorted(EXPIRING_REDUCERS)}}}}},
                channelName=name_string("The channel; it need not be declared.", MAX_CHANNEL_NAME),
                reducer=one_of(
                    REDUCERS,
                    "How the value is combined with what is there, if the channel is not declared.",
                    default="append",
                ),
                ttlMs=integer(1, MAX_TTL_MS, "Entries older than this are dropped with the next write."),
                maxSize=integer(1, MAX_CHANNEL_ITEMS, "Entries beyond this number are dropped, oldest first."),
                value=any_value("The value, if no port brings one."),
            ),
            writes_channel="channelName",
            notes=reference_notes(
                """
The value is the first of the port `value`, the config `value` and the port `input`; without any of them the node
fails with `node_input_missing`. A channel that the definition declares keeps its declared reducer and bounds;
`reducer`, `ttlMs` and `maxSize` are for one that it does not declare.
""",
                "core.channelWrite",
                {"channelName": "events", "reducer": "append", "ttlMs": 60_000, "value": "arrived"},
            ),
        ),
        _channel_write,
    ),
    InstantNode(
        NodeDeclaration(
            "core.transform",
            "Computes outputs by expressions.",
            outputs=port_schema(output=any_value("The value of `expression`.")),
            config=closed_object(
                rules={"minProperties": 1, "maxProperties": 1},
                expression=expression_string("Its value is the output `output`."),
                fields=keyed_object(
                    expression_string("Its value is the output of this name."), "Output port -> expression."
                ),
            ),
            expressions={"/expression": (), "/fields/*": ()},
            notes=reference_notes(
                """
Has either `expression` or `fields`. An expression that cannot be evaluated fails the node with the code of what was
wrong with it, such as `expression_limit`; none of the outputs is given then.
""",
                "core.transform",
                {"fields": {"name": "ports.input.first + ' ' + ports.input.last", "adult": "ports.input.age >= 18.0"}},
                {"input": {"type": "variable", "variableName": "person"}},
            ),
        ),
        _transform,
    ),
    InstantNode(
        NodeDeclaration(
            "core.template",
            "Writes a text with the values of expressions in it.",
            outputs=fixed_ports(output=typed("string", "The text.")),
            config=closed_object(
                "template", template=template_string("The text, with expressions in double braces.", 0)
            ),
            templates={"/template": ()},
            notes=reference_notes(
                """
Each `{{expression}}` is replaced by its value: a text as it is, anything else as JSON. An expression that cannot be
evaluated fails the node with the code of what was wrong with it.
""",
                "core.template",
                {"template": "Dear {{ports.input.name}}, your order has arrived."},
                {"input": {"type": "variable", "variableName": "customer"}},
            ),
        ),
        _template,
    ),
)
