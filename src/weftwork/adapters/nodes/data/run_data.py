"""Node types that read and write the data of a run: variables, channels, transform, template, log lines, artifacts."""

import hashlib
import re
from typing import Any, Final

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.call_inputs import (
    evaluate,
    input_value,
    render,
    truncate_utf8,
)
from weftwork.adapters.nodes.schemas import instant_node
from weftwork.ports.node_outcome import (
    AppendLog,
    Completed,
    EmitArtifact,
    Failed,
    NodeOutcome,
    SetVariable,
    WriteChannel,
)
from weftwork.ports.nodes import NodeCall, NodeType
from weftwork.protocol.ids import is_path_id
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.workflow.channels import EXPIRING_REDUCERS, MAX_CHANNEL_NAME, REDUCERS

MAX_TTL_MS: Final = 365 * 86_400_000
MAX_CHANNEL_ITEMS: Final = 100_000
MAX_MESSAGE: Final = 8_192
MAX_FIELD: Final = 8_192
MAX_SUMMARY: Final = 1_024
_NUMBERED_ID: Final = re.compile(r".*-[0-9]+", re.DOTALL)
_VALUE_PORTS: Final = schemas.port_schema(
    value=schemas.any_value("The value; wins over the config."),
    input=schemas.any_value("The value, if neither the port `value` nor the config has one."),
)


@instant_node(
    "core.setVariable",
    "Gives a variable of the run a value.",
    inputs=_VALUE_PORTS,
    outputs=schemas.fixed_ports(output=schemas.any_value("The value.")),
    config=schemas.closed_object(
        "name", name=schemas.name_string("The variable."), value=schemas.any_value("The value, if no port brings one.")
    ),
    sets_variable="name",
    notes="""
The value is the first of the port `value`, the config `value` and the port `input`; without any of them the node
fails with `node_input_missing`. Null is a value. A value that does not have the declared type of the variable fails
the node. What this node computes with is best written as an expression port.
""",
    example_config={"name": "attempts"},
    example_inputs={"value": {"type": "expression", "expression": "variables.attempts + 1.0"}},
)
def _set_variable(call: NodeCall) -> NodeOutcome:
    value = input_value(call, "value")
    return Completed({"output": value}, (SetVariable(call.config["name"], value),))


@instant_node(
    "core.getVariable",
    "Gives the value of a variable of the run.",
    outputs=schemas.fixed_ports(output=schemas.any_value("The value.")),
    config=schemas.closed_object(
        "name",
        name=schemas.name_string("The variable."),
        default=schemas.any_value("Given if the variable has no value."),
    ),
    reads_variable="name",
    notes="""
The value is the one at the moment the node starts. A variable without a value and without `default` fails the node
with `variable_not_set`. A variable that is null has a value.
""",
    example_config={"name": "locale", "default": "en"},
)
def _get_variable(call: NodeCall) -> NodeOutcome:
    variable = call.config["name"]
    if call.scope.has_variable(variable):
        return Completed({"output": call.scope.variable(variable)})
    if "default" in call.config:
        return Completed({"output": call.config["default"]})
    return Failed("variable_not_set", f"The variable {variable} has no value.", retryable=False)


@instant_node(
    "core.channelWrite",
    "Writes a value to a channel of the run.",
    inputs=_VALUE_PORTS,
    outputs=schemas.fixed_ports(output=schemas.any_value("The value, as it was written.")),
    config=schemas.closed_object(
        "channelName",
        rules={"dependentSchemas": {"ttlMs": {"properties": {"reducer": {"enum": sorted(EXPIRING_REDUCERS)}}}}},
        channelName=schemas.name_string("The channel; it need not be declared.", MAX_CHANNEL_NAME),
        reducer=schemas.one_of(
            REDUCERS,
            "How the value is combined with what is there, if the channel is not declared.",
            default="append",
        ),
        ttlMs=schemas.integer(1, MAX_TTL_MS, "Entries older than this are dropped with the next write."),
        maxSize=schemas.integer(1, MAX_CHANNEL_ITEMS, "Entries beyond this number are dropped, oldest first."),
        value=schemas.any_value("The value, if no port brings one."),
    ),
    writes_channel="channelName",
    notes="""
The value is the first of the port `value`, the config `value` and the port `input`; without any of them the node
fails with `node_input_missing`. A channel that the definition declares keeps its declared reducer and bounds;
`reducer`, `ttlMs` and `maxSize` are for one that it does not declare.
""",
    example_config={"channelName": "events", "reducer": "append", "ttlMs": 60_000, "value": "arrived"},
)
def _channel_write(call: NodeCall) -> NodeOutcome:
    """node-04 (OpenWOP channels): a channel need not be declared; the config's reducer is for one that is not."""
    value = input_value(call, "value")
    write = WriteChannel(call.config["channelName"], value, call.config.get("reducer", "append"))
    return Completed({"output": value}, (write,))


@instant_node(
    "core.transform",
    "Computes outputs by expressions.",
    outputs=schemas.port_schema(output=schemas.any_value("The value of `expression`.")),
    config=schemas.closed_object(
        rules={"minProperties": 1, "maxProperties": 1},
        expression=schemas.expression_string("Its value is the output `output`."),
        fields=schemas.keyed_object(
            schemas.expression_string("Its value is the output of this name."), "Output port -> expression."
        ),
    ),
    expressions={"/expression": (), "/fields/*": ()},
    notes="""
Has either `expression` or `fields`. An expression that cannot be evaluated fails the node with the code of what was
wrong with it, such as `expression_limit`; none of the outputs is given then.
""",
    example_config={
        "fields": {"name": "ports.input.first + ' ' + ports.input.last", "adult": "ports.input.age >= 18.0"}
    },
    example_inputs={"input": {"type": "variable", "variableName": "person"}},
)
def _transform(call: NodeCall) -> NodeOutcome:
    if "expression" in call.config:
        return Completed({"output": evaluate(call, call.config["expression"])})
    return Completed({port: evaluate(call, source) for port, source in call.config["fields"].items()})


@instant_node(
    "core.template",
    "Writes a text with the values of expressions in it.",
    outputs=schemas.fixed_ports(output=schemas.typed("string", "The text.")),
    config=schemas.closed_object(
        "template", template=schemas.template_string("The text, with expressions in double braces.", 0)
    ),
    templates={"/template": ()},
    notes="""
Each `{{expression}}` is replaced by its value: a text as it is, anything else as JSON. An expression that cannot be
evaluated fails the node with the code of what was wrong with it.
""",
    example_config={"template": "Dear {{ports.input.name}}, your order has arrived."},
    example_inputs={"input": {"type": "variable", "variableName": "customer"}},
)
def _template(call: NodeCall) -> NodeOutcome:
    return Completed({"output": render(call, call.config["template"])})


@instant_node(
    "core.log",
    "Writes a line for those who follow the run.",
    inputs=schemas.port_schema(input=schemas.any_value("Handed on as `output`.")),
    outputs=schemas.fixed_ports(output=schemas.any_value("The input `input`, if there is one.")),
    config=schemas.closed_object(
        "message",
        level=schemas.one_of(("debug", "info", "warn", "error"), "How much the line matters.", default="info"),
        message=schemas.template_string("The text, with expressions in double braces."),
        fields=schemas.keyed_object(
            schemas.expression_string("Its value stands beside the message."), "Name -> expression."
        ),
    ),
    expressions={"/fields/*": ()},
    templates={"/message": ()},
    notes=f"""
The line is the event `log.appended` of the run; it does not go to the log of the host. A message is cut at
{MAX_MESSAGE:,} bytes, and a field that takes more than {MAX_FIELD:,} bytes is replaced by a note of its size. An
expression that cannot be evaluated fails the node.
""",
    example_config={
        "level": "warn",
        "message": "Order {{ports.input.id}} waits for stock",
        "fields": {"missing": "ports.input.missing"},
    },
    example_inputs={"input": {"type": "variable", "variableName": "order"}},
)
def _log(call: NodeCall) -> NodeOutcome:
    config = call.config
    fields = {each: _log_field(evaluate(call, source)) for each, source in config.get("fields", {}).items()}
    line = AppendLog(config.get("level", "info"), truncate_utf8(render(call, config["message"]), MAX_MESSAGE), fields)
    return Completed({"output": call.inputs["input"]} if "input" in call.inputs else {}, (line,))


def _log_field(value: Any) -> Any:
    """A log line is kept small; a run does not fail because there was much to say."""
    size = len(encode_stored(value))
    return value if size <= MAX_FIELD else f"(left out: {size} bytes)"


@instant_node(
    "core.artifact.emit",
    "Keeps a value as an artifact of the run, to be fetched by its id.",
    inputs=schemas.port_schema(
        data=schemas.any_value("The artifact; wins over the config."),
        input=schemas.any_value("The artifact, if neither the port `data` nor the config has it."),
    ),
    outputs=schemas.fixed_ports(
        artifactId=schemas.typed("string", "The id to fetch it by."),
        artifactType=schemas.typed("string", "As configured."),
        output=schemas.any_value("The artifact itself."),
    ),
    config=schemas.closed_object(
        "artifactType",
        artifactType=schemas.name_string("What kind of thing it is; the author's own word."),
        artifactId=schemas.path_id_string("The id, instead of the id of the node."),
        summary=schemas.template_string("One line about it, with expressions in double braces."),
        data=schemas.any_value("The artifact, if no port brings it."),
    ),
    templates={"/summary": ()},
    notes=f"""
The artifact is the first of the port `data`, the config `data` and the port `input`; without any of them the node
fails with `node_input_missing`. Its id is `artifactId` or the id of the node, in later rounds of a loop followed by
`-1`, `-2` and so on. An id that ends in such a number itself gets one in the first round too (`-0`), and the id of a
node that cannot stand in a path is replaced by its digest. Two nodes should not be given the same `artifactId`. A
summary is cut at {MAX_SUMMARY:,} bytes.
""",
    example_config={"artifactType": "report", "summary": "Report for {{variables.month}}"},
    example_inputs={"data": {"type": "connection", "nodeId": "write", "outputKey": "output"}},
)
def _artifact(call: NodeCall) -> NodeOutcome:
    data = input_value(call, "data")
    artifact_id = derive_artifact_id(call.config.get("artifactId", call.node_id), call.visit)
    kind = call.config["artifactType"]
    summary = truncate_utf8(render(call, call.config["summary"]), MAX_SUMMARY) if "summary" in call.config else ""
    outputs = {"artifactId": artifact_id, "artifactType": kind, "output": data}
    return Completed(outputs, (EmitArtifact(artifact_id, kind, data, summary),))


def derive_artifact_id(base: str, iteration: int) -> str:
    """The base, from the second round of a loop on with a number; never the same for two bases or two rounds.

    A base that looks numbered gets a number in every round, or the first round of `a-1` would be the second of `a`.
    A base that cannot stand in a path, or that means another place there, is replaced by its digest.
    """
    if not base.strip(".") or not is_path_id(f"{base}-{iteration}"):
        base = f"artifact.{hashlib.sha256(base.encode()).hexdigest()}"
    return f"{base}-{iteration}" if iteration or _NUMBERED_ID.fullmatch(base) else base


DATA_NODES: Final[tuple[NodeType, ...]] = (_set_variable, _get_variable, _channel_write, _transform, _template)
LOG_AND_ARTIFACT_NODES: Final[tuple[NodeType, ...]] = (_log, _artifact)
