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
    value=schemas.any_value("The value. Overrides the config."),
    input=schemas.any_value("The value, if neither the input `value` nor the config has one."),
)


@instant_node(
    "core.setVariable",
    "Sets a variable of the run.",
    inputs=_VALUE_PORTS,
    outputs=schemas.fixed_ports(output=schemas.any_value("The value.")),
    config=schemas.closed_object(
        "name",
        name=schemas.name_string("The name of the variable."),
        value=schemas.any_value("The value, if no input has one."),
    ),
    sets_variable="name",
    notes="""
The value is the input `value`, else the config member `value`, else the input `input`. Without any of them the node
fails with `node_input_missing`. Null is a valid value. If the value does not have the declared type of the variable,
the node fails. To compute the value, set the input `value` to an expression, as in the example.
""",
    example_config={"name": "attempts"},
    example_inputs={"value": {"type": "expression", "expression": "variables.attempts + 1.0"}},
)
def _set_variable(call: NodeCall) -> NodeOutcome:
    value = input_value(call, "value")
    return Completed({"output": value}, (SetVariable(call.config["name"], value),))


@instant_node(
    "core.getVariable",
    "Returns the value of a variable of the run.",
    outputs=schemas.fixed_ports(output=schemas.any_value("The value.")),
    config=schemas.closed_object(
        "name",
        name=schemas.name_string("The name of the variable."),
        default=schemas.any_value("The value that is returned if the variable is not set."),
    ),
    reads_variable="name",
    notes="""
The node reads the variable when it starts. If the variable is not set and there is no `default`, the node fails with
`variable_not_set`. A variable with the value null is set.
""",
    example_config={"name": "locale", "default": "en"},
)
def _get_variable(call: NodeCall) -> NodeOutcome:
    variable = call.config["name"]
    if call.scope.has_variable(variable):
        return Completed({"output": call.scope.variable(variable)})
    if "default" in call.config:
        return Completed({"output": call.config["default"]})
    return Failed(
        "variable_not_set", f"The variable {variable} is not set, and config default is absent.", retryable=False
    )


@instant_node(
    "core.channelWrite",
    "Writes a value to a channel of the run.",
    inputs=_VALUE_PORTS,
    outputs=schemas.fixed_ports(output=schemas.any_value("The written value.")),
    config=schemas.closed_object(
        "channelName",
        rules={"dependentSchemas": {"ttlMs": {"properties": {"reducer": {"enum": sorted(EXPIRING_REDUCERS)}}}}},
        channelName=schemas.name_string(
            "The name of the channel. The definition does not have to declare it.", MAX_CHANNEL_NAME
        ),
        reducer=schemas.one_of(
            REDUCERS,
            "The reducer of a channel that the definition does not declare.",
            default="append",
        ),
        ttlMs=schemas.integer(
            1, MAX_TTL_MS, "The lifetime of entries in milliseconds. Older entries are dropped at the next write."
        ),
        maxSize=schemas.integer(1, MAX_CHANNEL_ITEMS, "The maximum number of entries. The oldest entries are dropped."),
        value=schemas.any_value("The value, if no input has one."),
    ),
    writes_channel="channelName",
    notes="""
The value is the input `value`, else the config member `value`, else the input `input`. Without any of them the node
fails with `node_input_missing`. `reducer`, `ttlMs` and `maxSize` apply only to a channel that the definition does not
declare; a declared channel uses its declared reducer and limits. `ttlMs` requires one of the reducers `append`, `votes`
and `feedback`: see [Channels](../channels.md).
""",
    example_config={"channelName": "events", "reducer": "append", "ttlMs": 60_000, "value": "arrived"},
)
def _channel_write(call: NodeCall) -> NodeOutcome:
    """node-04 (OpenWOP channels): the reducer of the config applies to a channel that is not declared."""
    value = input_value(call, "value")
    write = WriteChannel(call.config["channelName"], value, call.config.get("reducer", "append"))
    return Completed({"output": value}, (write,))


@instant_node(
    "core.transform",
    "Computes outputs with expressions.",
    outputs=schemas.port_schema(output=schemas.any_value("The value of `expression`.")),
    config=schemas.closed_object(
        rules={"minProperties": 1, "maxProperties": 1},
        expression=schemas.expression_string("The expression for the output `output`."),
        fields=schemas.keyed_object(
            schemas.expression_string("The expression for this output."),
            "The outputs: an output port and the expression for its value.",
        ),
    ),
    expressions={"/expression": (), "/fields/*": ()},
    notes="""
The config has either `expression` or `fields`. If an expression cannot be evaluated, the node fails with the code of
that error, such as `expression_limit`, and returns no outputs.
""",
    example_config={
        "fields": {"name": "ports.input.first + ' ' + ports.input.last", "adult": "ports.input.age >= 18.0"}
    },
    example_inputs={"input": {"type": "variable", "variableName": "person"}},
)
def _transform(call: NodeCall) -> NodeOutcome:
    if "expression" in call.config:
        return Completed({"output": evaluate(call, call.config["expression"])})
    fields: dict[str, str] = call.config["fields"]
    # Evaluated in sorted order, so that the order of members does not decide which of two errors is reported.
    values = {port: evaluate(call, fields[port]) for port in sorted(fields)}
    return Completed({port: values[port] for port in fields})


@instant_node(
    "core.template",
    "Renders a text template with the values of expressions.",
    outputs=schemas.fixed_ports(output=schemas.typed("string", "The rendered text.")),
    config=schemas.closed_object(
        "template", template=schemas.template_string("The template: a text with expressions in double braces.", 0)
    ),
    templates={"/template": ()},
    notes="""
The node replaces each `{{expression}}` by its value: a string unchanged, any other value as JSON. If an expression
cannot be evaluated, the node fails with the code of that error.
""",
    example_config={"template": "Dear {{ports.input.name}}, your order has arrived."},
    example_inputs={"input": {"type": "variable", "variableName": "customer"}},
)
def _template(call: NodeCall) -> NodeOutcome:
    return Completed({"output": render(call, call.config["template"])})


@instant_node(
    "core.log",
    "Writes a line to the log of the run.",
    inputs=schemas.port_schema(input=schemas.any_value("A value that the node returns as `output`.")),
    outputs=schemas.fixed_ports(output=schemas.any_value("The input `input`, if there is one.")),
    config=schemas.closed_object(
        "message",
        level=schemas.one_of(("debug", "info", "warn", "error"), "The severity.", default="info"),
        message=schemas.template_string("The message: a text with expressions in double braces."),
        fields=schemas.keyed_object(
            schemas.expression_string("The expression for this field."),
            "Structured fields of the line: a name and the expression for its value.",
        ),
    ),
    expressions={"/fields/*": ()},
    templates={"/message": ()},
    notes=f"""
The line is a `log.appended` event of the run. It does not appear in the log of the host. The message is truncated at
{MAX_MESSAGE:,} bytes, and a field of more than {MAX_FIELD:,} bytes is replaced by a text with its size. If an
expression cannot be evaluated, the node fails.
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
    fields = {each: _log_field(evaluate(call, source)) for each, source in sorted(config.get("fields", {}).items())}
    line = AppendLog(config.get("level", "info"), truncate_utf8(render(call, config["message"]), MAX_MESSAGE), fields)
    return Completed({"output": call.inputs["input"]} if "input" in call.inputs else {}, (line,))


def _log_field(value: Any) -> Any:
    """The value, or a text with its size if it is too large. A large field must not fail the run."""
    size = len(encode_stored(value))
    return value if size <= MAX_FIELD else f"(omitted: {size} bytes)"


@instant_node(
    "core.artifact.emit",
    "Stores a value as an artifact of the run.",
    inputs=schemas.port_schema(
        data=schemas.any_value("The artifact. Overrides the config."),
        input=schemas.any_value("The artifact, if neither the input `data` nor the config has it."),
    ),
    outputs=schemas.fixed_ports(
        artifactId=schemas.typed("string", "The id with which the artifact can be fetched."),
        artifactType=schemas.typed("string", "The configured type."),
        output=schemas.any_value("The artifact."),
    ),
    config=schemas.closed_object(
        "artifactType",
        artifactType=schemas.name_string("The type of the artifact, a name that you choose."),
        artifactId=schemas.path_id_string("The id of the artifact. The default is the id of the node."),
        summary=schemas.template_string("A one-line summary, with expressions in double braces."),
        data=schemas.any_value("The artifact, if no input has it."),
    ),
    templates={"/summary": ()},
    notes=f"""
The artifact is the input `data`, else the config member `data`, else the input `input`. Without any of them the node
fails with `node_input_missing`. Clients fetch the artifact by its id. The summary is truncated at {MAX_SUMMARY:,}
bytes.

The id is `artifactId` or the id of the node. In later rounds of a loop, `-1`, `-2` and so on is appended. An id that
already ends in such a number gets a number in the first round too (`-0`). If the id of the node contains characters
that are not allowed in a URL path, its SHA-256 digest is used instead. Do not give two nodes the same `artifactId`.
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
    """The base, followed by the iteration from the second round of a loop on. Unique per base and iteration.

    A base that ends in a number gets one in every round; otherwise the first round of `a-1` would have the same id as
    the second round of `a`. A base that is not allowed in a URL path, such as `..`, is replaced by its digest.
    """
    if not base.strip(".") or not is_path_id(f"{base}-{iteration}"):
        base = f"artifact.{hashlib.sha256(base.encode()).hexdigest()}"
    return f"{base}-{iteration}" if iteration or _NUMBERED_ID.fullmatch(base) else base


DATA_NODES: Final[tuple[NodeType, ...]] = (_set_variable, _get_variable, _channel_write, _transform, _template)
LOG_AND_ARTIFACT_NODES: Final[tuple[NodeType, ...]] = (_log, _artifact)
