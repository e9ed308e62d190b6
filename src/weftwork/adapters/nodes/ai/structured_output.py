"""The node type core.ai.structuredOutput: a model fills a schema."""

from typing import Any, Final

from weftwork.adapters.nodes.ai.model_request import (
    ANSWER_PORTS,
    MEDIA_CONFIG,
    MEDIA_TEMPLATES,
    MESSAGE_PORTS,
    MODEL_CONFIG,
    PROMPT_CONFIG,
    answer_outputs,
    build_request,
)
from weftwork.adapters.nodes.schemas import (
    any_value,
    closed_object,
    fixed_ports,
    integer,
    port_schema,
    reference_notes,
    typed,
)
from weftwork.engine.sdk.generation import generate_value, output_shape
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.protocol.json.caller_schema import check_caller_schema
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.workflow.node_types import NodeDeclaration


async def _structured(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """ai-05 (RFC 0032, RFC 0033): the one value that fits the schema, or the failure that says why there is none."""
    request = build_request(call)
    if isinstance(request, Failed):
        return request
    name, wanted = output_shape(call.config["outputSchema"])
    filled = await generate_value(context, call, request, wanted, name)
    return filled if isinstance(filled, Failed) else Completed({"data": filled.value, **answer_outputs(filled.answer)})


def _check(config: dict[str, Any]) -> list[Violation]:
    return check_caller_schema(output_shape(config["outputSchema"])[1], "/outputSchema")


STRUCTURED_OUTPUT_NODE: Final[NodeType] = WaitingNode(
    NodeDeclaration(
        "core.ai.structuredOutput",
        "Asks a model for a value that fits a schema.",
        effect="idempotent",
        instant=False,
        inputs=port_schema(**MESSAGE_PORTS),
        outputs=fixed_ports(data=any_value("The value; it fits the schema."), **ANSWER_PORTS),
        config=closed_object(
            "outputSchema",
            outputSchema=typed("object", "A JSON Schema of the value, in the dialect of callers; `$id` is left aside."),
            **PROMPT_CONFIG,
            **MODEL_CONFIG,
            **MEDIA_CONFIG,
            retryOnInvalidJson=integer(0, 16, "Left aside: how often a model is asked is the host's."),
        ),
        templates={"/prompt": (), "/systemPrompt": (), **MEDIA_TEMPLATES},
        check_config=_check,
        notes=reference_notes(
            """
What is asked comes from ports and config as with [core.ai.chatCompletion](core.ai.chatCompletion.md). The host tells
the model the schema, and no value leaves the node that does not fit it. The [schema](../channels.md#schemas) is checked
when the workflow is registered.

An answer is read strictly, then leniently: a fence around the JSON, words before and after it and small slips of
notation are repaired (`envelope.recovery.applied`). One that cannot be read, or does not fit, is sent back with what is
wrong (`envelope.retry.attempted`); one that was cut short is asked for again with more room and no other word
(`envelope.truncated`). After as many answers as the host allows, a model that keeps writing prose is asked once more to
put it into the form (`envelope.nlToFormat.engaged`).

When that is used up (`envelope.retry.exhausted`), the node fails with `envelope_invalid`, or with
`envelope_truncation_unrecoverable` if no answer was whole. A refusal fails it at once with `envelope_refusal`, and the
words of the refusal stand in the event `envelope.refusal` alone.
""",
            "core.ai.structuredOutput",
            {
                "systemPrompt": "You read orders that come by mail.",
                "prompt": "The mail: {{ports.mail}}",
                "outputSchema": {
                    "title": "Order",
                    "type": "object",
                    "required": ["article", "amount"],
                    "properties": {
                        "article": {"type": "string"},
                        "amount": {"type": "integer", "minimum": 1},
                    },
                    "additionalProperties": False,
                },
            },
            {"mail": {"type": "variable", "variableName": "mail"}},
        ),
    ),
    _structured,
)
