"""The node type local.sample.demo.mock-ai: asks a model by prompt templates. For tests of hosts."""

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
"""The variable with what is asked where no template says."""


async def _mock_ai(call: NodeCall, context: NodeContext, templates: PromptTemplates) -> NodeOutcome:
    found = compose_prompts(call, context.untrusted, templates)
    if isinstance(found, Failed):
        return found
    told = found or NO_TEMPLATE_PROMPTS
    choice = select_model(call.configurable, call.config)
    request = ModelRequest(
        choice.provider,
        choice.model,
        (Message("user", told.user_text(told.user or _inline_prompt(call, context.untrusted))),),
        told.system_text(told.system or call.config.get("systemPrompt", "")),
        choice.temperature,
        choice.max_tokens,
        node_id=call.node_id,
        run_id=call.run_id,
        mock=call.configurable.get("mockProvider"),
    )
    spoken = await generate_text(context, call, request, told.events)
    if isinstance(spoken, Failed):
        return spoken
    return Completed({"text": spoken.answer.text, "output": spoken.answer.text})


def _inline_prompt(call: NodeCall, untrusted: bool) -> str:
    """What is asked without a template: the config, else the run's variable, which may hold what came from outside."""
    if FALLBACK_VARIABLE in call.config:
        return str(call.config[FALLBACK_VARIABLE])
    given: Any = call.scope.variable(FALLBACK_VARIABLE, "")
    if not isinstance(given, str) or not given:
        return ""
    return fence_untrusted(given) if untrusted else given


def mock_ai_nodes(templates: PromptTemplates) -> tuple[NodeType, ...]:
    """The type, which finds its prompts among these templates."""
    text = typed("string", "What the model said.")
    declaration = NodeDeclaration(
        MOCK_AI,
        "Asks a model by prompt templates.",
        effect="idempotent",
        instant=False,
        outputs=fixed_ports(output=text, text={**text, "description": "The same."}),
        config=closed_object(
            **PROMPT_REF_CONFIG,
            systemPrompt=typed("string", "What the model is told first, if no template says."),
            **{
                FALLBACK_VARIABLE: typed(
                    "string", "What it is asked, if no template says; else the run's variable `prompt`."
                )
            },
            provider=typed("string", "Who answers.", minLength=1),
            model=typed("string", "The model.", minLength=1),
        ),
        prompt_templates="always",
        equal_outputs=("output", "text"),
        notes="""
Only a host with `--conformance` has this type. It tells of each template with one `agent.promptResolved`, which says
where the reference came from, and one `prompt.composed`, which says what became of it, in one commit with the model's
answer. The model is told system, schema hint, examples and question, in this order.

A reference wins over a text beside it; then there is a `log.appended` with the code `prompt_ref_supersedes_inline`.
A template that the host does not have fails the node with `prompt_ref_unresolved`, a variable without a value with
`prompt_variable_unresolved`.
""",
        example_config={"systemPromptRef": "prompt:conformance.prompt.writer-system@1.0.0"},
    )
    return (WaitingNode(declaration, partial(_mock_ai, templates=templates)),)
