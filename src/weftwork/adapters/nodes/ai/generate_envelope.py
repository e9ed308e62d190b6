"""The node type core.ai.generateEnvelope: a model answers with a typed envelope."""

from typing import Final

from weftwork.adapters.nodes.ai.model_request import (
    ANSWER_PORTS,
    MEDIA_CONFIG,
    MEDIA_PORT,
    MEDIA_TEMPLATES,
    MODEL_CONFIG,
    PROMPT_MISSING,
    answer_outputs,
    build_model_request,
    media_parts,
    system_prompt,
    user_prompt,
)
from weftwork.adapters.nodes.call_inputs import expression_failure
from weftwork.adapters.nodes.schemas import (
    any_value,
    closed_object,
    fixed_ports,
    name_string,
    port_schema,
    reference_notes,
    template_string,
    typed,
)
from weftwork.engine.sdk.generation import generate_envelope
from weftwork.engine.sdk.model_request import START_MESSAGE, append_media
from weftwork.ports.models import Message
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.protocol.envelopes.gate_rules import MAX_KIND
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.workflow.node_types import NodeDeclaration


async def _generate(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """ai-06 (RFC 0021, host.aiEnvelope.generate): an envelope of the kind that the config names, from a model."""
    try:
        message = user_prompt(call, "userMessage")
        system = system_prompt(call)
        media = media_parts(call)
    except ExpressionFault as fault:
        return expression_failure(fault)
    if message is None and not system and not media:
        return PROMPT_MISSING
    said = Message("user", message or ("" if media else START_MESSAGE))
    request = build_model_request(call, append_media((said,), media), system)
    made = await generate_envelope(context, call, request, call.config["envelopeType"], call.contract)
    if isinstance(made, Failed):
        return made
    accepted = made.accepted
    return Completed(
        {
            "envelopeType": accepted.type,
            "payload": accepted.payload,
            "envelopeId": accepted.envelope_id,
            "contentTrust": accepted.content_trust,
            **answer_outputs(made.answer),
        }
    )


ENVELOPE_NODE: Final[NodeType] = WaitingNode(
    NodeDeclaration(
        "core.ai.generateEnvelope",
        "Asks a model for an envelope of one kind.",
        effect="idempotent",
        instant=False,
        inputs=port_schema(
            userMessage=any_value("What the model is asked; wins over the config."),
            input=any_value("What it is asked if nothing else says."),
            **MEDIA_PORT,
        ),
        outputs=fixed_ports(
            envelopeType=typed("string", "The kind."),
            payload=any_value("What the envelope holds, checked and without secrets."),
            envelopeId=typed("string", "The id of the envelope."),
            contentTrust=typed("string", "`untrusted` if something from outside went into it, else `trusted`."),
            **ANSWER_PORTS,
        ),
        config=closed_object(
            "envelopeType",
            envelopeType=name_string("The kind that is wanted.", MAX_KIND),
            systemPrompt=template_string("What the model is told before everything else.", 0),
            userMessage=template_string("What it is asked, if no port says."),
            **MODEL_CONFIG,
            **MEDIA_CONFIG,
        ),
        templates={"/systemPrompt": (), "/userMessage": (), **MEDIA_TEMPLATES},
        notes=reference_notes(
            """
Every envelope that the model sends goes through the gate of the host: its shape, its kind, its payload, the node's
`envelopeContract`, the limits, secrets and trust are judged in this order, and the outcome is recorded once. The one of
the wanted kind becomes the outputs.

The model may first ask: a `clarification.request` suspends the run until a person has answered, and the answers go back
to the model. A `schema.request` is answered with the schema. An `error`, by which a model says that it cannot do it, is
logged and given like the envelope that was wanted: it is no failure of the node.

`media` shows the model images, sound or documents: [What models see](../perception.md). The envelope is untrusted then.

The schema of a kind comes with the workflow, in `metadata.envelopeKinds`, or is known to the host; for any other kind
the node fails with `unknown_envelope_kind`.

Answers that cannot be read, do not fit, are cut short or refuse are treated as by
[core.ai.structuredOutput](core.ai.structuredOutput.md), with the same codes. A kind that the contract does not accept
fails the node with `envelope_contract_violation`, or is left aside with a warning if the contract says
`discard-and-warn`. One envelope, schema or question too many fails it with `cap_breached`. Kinds that the contract
lists under `artifacts` become artifacts of the run as well.
""",
            "core.ai.generateEnvelope",
            {
                "envelopeType": "vendor.example.ticket",
                "systemPrompt": "You turn complaints into tickets.",
                "userMessage": "The complaint: {{ports.complaint}}",
            },
            {"complaint": {"type": "variable", "variableName": "complaint"}},
        ),
    ),
    _generate,
)
