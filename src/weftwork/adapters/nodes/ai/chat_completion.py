"""The node type core.ai.chatCompletion: lets a model continue a conversation."""

from typing import Final

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
from weftwork.adapters.nodes.schemas import closed_object, fixed_ports, port_schema, reference_notes, typed
from weftwork.engine.sdk.generation import generate_text
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.protocol.workflow.node_types import NodeDeclaration


async def _chat(call: NodeCall, context: NodeContext) -> NodeOutcome:
    request = build_request(call)
    if isinstance(request, Failed):
        return request
    spoken = await generate_text(context, call, request)
    if isinstance(spoken, Failed):
        return spoken
    text = spoken.answer.text
    return Completed(
        {"content": text, "message": {"role": "assistant", "content": text}, **answer_outputs(spoken.answer)}
    )


CHAT_NODE: Final[NodeType] = WaitingNode(
    NodeDeclaration(
        "core.ai.chatCompletion",
        "Gives what a model says next in a conversation.",
        effect="idempotent",
        instant=False,
        inputs=port_schema(**MESSAGE_PORTS),
        outputs=fixed_ports(
            content=typed("string", "What the model said."),
            message=typed("object", "The same as a message, to add to the others."),
            **ANSWER_PORTS,
        ),
        config=closed_object(**PROMPT_CONFIG, **MODEL_CONFIG, **MEDIA_CONFIG),
        templates={"/prompt": (), "/systemPrompt": (), **MEDIA_TEMPLATES},
        equal_outputs=("content", "message"),
        notes=reference_notes(
            """
The answer is streamed, recorded and given like that of [core.ai.callPrompt](core.ai.callPrompt.md), and the node fails
in the same cases. The port `messages` brings the conversation. Without it the one message is the port `prompt`, else
the config `prompt`, else the port `input`; without any of them the node fails with `node_input_missing`.

The content of a message is a text, or a list of parts: texts, images, sound and documents, as
[What models see](../perception.md) tells. `media` is added to the end of the conversation. What cannot be shown to the
model fails the node, and is never left out. In a conversation that came from outside every text stands behind
`<UNTRUSTED>` marks, and a message of the role `system` becomes one of a user.
""",
            "core.ai.chatCompletion",
            {"systemPrompt": "You answer customers of a garden shop.", "temperature": 0.3},
            {"messages": {"type": "variable", "variableName": "conversation"}},
        ),
    ),
    _chat,
)
