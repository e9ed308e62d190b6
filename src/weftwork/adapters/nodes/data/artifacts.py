"""Node types that record something for readers of a run: log, artifact."""

import hashlib
import re
from typing import Any, Final

from weftwork.adapters.nodes.call_inputs import (
    evaluate,
    fail_on_expression_fault,
    input_value,
    missing_input,
    render,
    truncate_utf8,
)
from weftwork.adapters.nodes.schemas import (
    any_value,
    closed_object,
    expression_string,
    fixed_ports,
    keyed_object,
    name_string,
    one_of,
    path_id_string,
    port_schema,
    reference_notes,
    template_string,
    typed,
)
from weftwork.ports.node_outcome import AppendLog, Completed, EmitArtifact, NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall, NodeType
from weftwork.protocol.ids import is_path_id
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.values import ABSENT
from weftwork.protocol.workflow.node_types import NodeDeclaration

MAX_MESSAGE: Final = 8_192
MAX_FIELD: Final = 8_192
MAX_SUMMARY: Final = 1_024

_NUMBERED_ID: Final = re.compile(r".*-[0-9]+", re.DOTALL)


@fail_on_expression_fault
def _log(call: NodeCall) -> NodeOutcome:
    config = call.config
    fields = {each: _log_field(evaluate(call, source)) for each, source in config.get("fields", {}).items()}
    line = AppendLog(config.get("level", "info"), truncate_utf8(render(call, config["message"]), MAX_MESSAGE), fields)
    return Completed({"output": call.inputs["input"]} if "input" in call.inputs else {}, (line,))


def _log_field(value: Any) -> Any:
    """A log line is kept small; a run does not fail because there was much to say."""
    size = len(encode_stored(value))
    return value if size <= MAX_FIELD else f"(left out: {size} bytes)"


@fail_on_expression_fault
def _artifact(call: NodeCall) -> NodeOutcome:
    data = input_value(call, "data")
    if data is ABSENT:
        return missing_input("data")
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


LOG_AND_ARTIFACT_NODES: Final[tuple[NodeType, ...]] = (
    InstantNode(
        NodeDeclaration(
            "core.log",
            "Writes a line for those who follow the run.",
            inputs=port_schema(input=any_value("Handed on as `output`.")),
            outputs=fixed_ports(output=any_value("The input `input`, if there is one.")),
            config=closed_object(
                "message",
                level=one_of(("debug", "info", "warn", "error"), "How much the line matters.", default="info"),
                message=template_string("The text, with expressions in double braces."),
                fields=keyed_object(expression_string("Its value stands beside the message."), "Name -> expression."),
            ),
            expressions={"/fields/*": ()},
            templates={"/message": ()},
            notes=reference_notes(
                f"""
The line is the event `log.appended` of the run; it does not go to the log of the host. A message is cut at
{MAX_MESSAGE:,} bytes, and a field that takes more than {MAX_FIELD:,} bytes is replaced by a note of its size. An
expression that cannot be evaluated fails the node.
""",
                "core.log",
                {
                    "level": "warn",
                    "message": "Order {{ports.input.id}} waits for stock",
                    "fields": {"missing": "ports.input.missing"},
                },
                {"input": {"type": "variable", "variableName": "order"}},
            ),
        ),
        _log,
    ),
    InstantNode(
        NodeDeclaration(
            "core.artifact.emit",
            "Keeps a value as an artifact of the run, to be fetched by its id.",
            inputs=port_schema(
                data=any_value("The artifact; wins over the config."),
                input=any_value("The artifact, if neither the port `data` nor the config has it."),
            ),
            outputs=fixed_ports(
                artifactId=typed("string", "The id to fetch it by."),
                artifactType=typed("string", "As configured."),
                output=any_value("The artifact itself."),
            ),
            config=closed_object(
                "artifactType",
                artifactType=name_string("What kind of thing it is; the author's own word."),
                artifactId=path_id_string("The id, instead of the id of the node."),
                summary=template_string("One line about it, with expressions in double braces."),
                data=any_value("The artifact, if no port brings it."),
            ),
            templates={"/summary": ()},
            notes=reference_notes(
                f"""
The artifact is the first of the port `data`, the config `data` and the port `input`; without any of them the node
fails with `node_input_missing`. Its id is `artifactId` or the id of the node, in later rounds of a loop followed by
`-1`, `-2` and so on. An id that ends in such a number itself gets one in the first round too (`-0`), and the id of a
node that cannot stand in a path is replaced by its digest. Two nodes should not be given the same `artifactId`. A
summary is cut at {MAX_SUMMARY:,} bytes.
""",
                "core.artifact.emit",
                {"artifactType": "report", "summary": "Report for {{variables.month}}"},
                {"data": {"type": "connection", "nodeId": "write", "outputKey": "output"}},
            ),
        ),
        _artifact,
    ),
)
