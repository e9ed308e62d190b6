"""The node type local.sample.demo.mock-ai: calls a model with prompt templates. For conformance tests."""

from functools import partial
from typing import Any, Final

from weftwork.adapters.nodes.ai.model_request import fence_untrusted
from weftwork.adapters.nodes.ai.prompt_templates import NO_TEMPLATE_PROMPTS, PROMPT_REF_CONFIG, compose_prompts
from weftwork.adapters.nodes.schemas import closed_object, fixed_ports, typed
from weftwork.engine.sdk.generation import generate_text
from weftwork.ports.models import Message, ModelRequest
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.protocol.models.prompt_templates import PromptTemplates
from weftwork.protocol.models.selection import select_model
from weftwork.protocol.workflow.node_types import NodeDeclaration

MOCK_AI: Final = "local.sample.demo.mock-ai"
FALLBACK_VARIABLE: Final = "prompt"
"""The config member and run variable that hold the user prompt if no template does."""


async def _mock_ai(call: NodeCall, context: NodeContext, templates: PromptTemplates) -> NodeOutcome:
    composed = compose_prompts(call, context.untrusted, templates)
    if isinstance(composed, Failed):
        return composed
    prompts = composed or NO_TEMPLATE_PROMPTS
    choice = select_model(call.configurable, call.config)
    request = ModelRequest(
        choice.provider,
        choice.model,
        (Message("user", prompts.user_text(prompts.user or _inline_prompt(call, context.untrusted))),),
        prompts.system_text(prompts.system or call.config.get("systemPrompt", "")),
        choice.temperature,
        choice.max_tokens,
        node_id=call.node_id,
        run_id=call.run_id,
        mock=call.configurable.get("mockProvider"),
    )
    generation = await generate_text(context, call, request, prompts.events)
    if isinstance(generation, Failed):
        return generation
    return Completed({"text": generation.answer.text, "output": generation.answer.text})


def _inline_prompt(call: NodeCall, untrusted: bool) -> str:
    """The user prompt without a template: from the config, or from the run's variable, which may be untrusted."""
    if FALLBACK_VARIABLE in call.config:
        return str(call.config[FALLBACK_VARIABLE])
    value: Any = call.scope.variable(FALLBACK_VARIABLE, "")
    if not isinstance(value, str) or not value:
        return ""
    return fence_untrusted(value) if untrusted else value


def mock_ai_nodes(templates: PromptTemplates) -> tuple[NodeType, ...]:
    """The node type, with the templates that its references resolve to."""
    text = typed("string", "Text of the model's answer.")
    declaration = NodeDeclaration(
        MOCK_AI,
        "Calls a model with prompt templates.",
        effect="idempotent",
        instant=False,
        outputs=fixed_ports(output=text, text={**text, "description": "The same text as `output`."}),
        config=closed_object(
            **PROMPT_REF_CONFIG,
            systemPrompt=typed("string", "System prompt, if no template provides one."),
            **{
                FALLBACK_VARIABLE: typed(
                    "string",
                    "User prompt, if no template provides one. Defaults to the run's variable `prompt`.",
                )
            },
            provider=typed("string", "Name of the model provider.", minLength=1),
            model=typed("string", "Name of the model.", minLength=1),
        ),
        prompt_templates="always",
        equal_outputs=("output", "text"),
        notes="""
Only a host with `--conformance` has this type. For each template it emits one `agent.promptResolved` with the source of
the reference and one `prompt.composed` with the composed text, before the model's answer and its chunks. The model
receives the system prompt, the schema hint, the examples and the user prompt, in this order.

If the config has both a reference and an inline text, the reference is used, and a `log.appended` with the code
`prompt_ref_supersedes_inline` is recorded. A template that the host does not have fails the node with
`prompt_ref_unresolved`, a required variable without a value with `prompt_variable_unresolved`.
""",
        example_config={"systemPromptRef": "prompt:conformance.prompt.writer-system@1.0.0"},
    )
    return (WaitingNode(declaration, partial(_mock_ai, templates=templates)),)
