"""The node type core.conversationGate: a conversation with a person, in several turns."""

from functools import partial
from typing import Any, Final

import msgspec

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.call_inputs import render, truncate_utf8
from weftwork.adapters.nodes.people.interrupt_request import (
    TIMED_OUT,
    TIMEOUT_CONFIG,
    check_interrupt_config,
    conversation_id,
    default_interrupt_key,
    reminders_ms,
    timeout_ms,
)
from weftwork.adapters.nodes.people.surface_form import (
    SURFACE_TEMPLATES,
    check_surface_config,
    form_payload,
    surface_config,
    surface_input,
)
from weftwork.adapters.nodes.schemas import waiting_node
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome, WriteChannel, raised_failure
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.run.interrupts import Interrupt, Resolution
from weftwork.protocol.workflow.channels import MAX_CHANNEL_NAME

DEFAULT_CHANNEL: Final = "conversation"
DEFAULT_TITLE: Final = "Conversation"
"""Always set: the schema distinguishes the start of a conversation from its end by the title."""
DEFAULT_PROMPT: Final = "Please answer."
MOCK_ANSWER: Final = "Answered by the host."
MAX_TURNS: Final = 100
MAX_PROMPT: Final = 8_192

_SCHEMA: Final = "outcomeSchema"
_MOCK: Final = "mockAutoResume"
_EXPRESSION_NAMES: Final = ("answer", "turn")


class _Turn(msgspec.Struct, frozen=True):
    index: int
    prompt: str
    answer: Any
    by: str


def _turn_count(config: dict[str, Any]) -> int:
    return config.get("turnCount", len(config.get("prompts", ())) or 1)


def _check(config: dict[str, Any]) -> list[Violation]:
    data = {"conversationId": "id", "prompt": "?"}
    data |= {member: config[member] for member in (_SCHEMA,) if member in config}
    violations = check_interrupt_config(config, "conversation.exchange", data)
    if len(config.get("prompts", ())) > _turn_count(config):
        violations.append(Violation("/prompts", "maxItems", "has more prompts than turnCount"))
    violations = violations or check_surface_config(config, "conversation.exchange", data)
    if "surface" in config:
        others = [each for each in (_SCHEMA, _MOCK) if config.get(each)]
        violations += [Violation(f"/{each}", "not", "cannot be combined with a surface") for each in others]
    if violations or not config.get(_MOCK) or _SCHEMA not in config:
        return violations
    if check_value(config[_SCHEMA], MOCK_ANSWER, ""):
        violations.append(
            Violation("/mockAutoResume", "not", "answers with a text, which outcomeSchema does not allow")
        )
    return violations


@waiting_node(
    "core.conversationGate",
    "Holds a conversation with a person, in one or more turns.",
    writes_channel="channel",
    inputs=schemas.port_schema(surface=surface_input("The form of each turn.")),
    outputs=schemas.fixed_ports(
        conversationId=schemas.typed("string", "The id of the conversation."),
        turns=schemas.typed("array", "The turns, each as `{turnIndex, prompt, answer}`."),
        outcome=schemas.any_value("The last answer."),
    ),
    config=schemas.closed_object(
        lifecycle=schemas.one_of(
            ("open-exchange-close",),
            "The lifecycle: the conversation is opened, has its turns, and is closed.",
            default="open-exchange-close",
        ),
        turnCount=schemas.integer(
            1, MAX_TURNS, "The maximum number of turns. The default is the number of `prompts`, or 1."
        ),
        prompt=schemas.template_string("The prompt of each turn; a template.", default=DEFAULT_PROMPT),
        prompts=schemas.typed(
            "array",
            "The prompts of the first turns, in order. Later turns use `prompt`.",
            minItems=1,
            maxItems=MAX_TURNS,
            items=schemas.template_string("The prompt of the turn; a template."),
        ),
        title=schemas.template_string("The title of the conversation; a template.", default=DEFAULT_TITLE),
        initialPrompt=schemas.template_string("A text that opens the conversation; a template."),
        outcomeSchema=schemas.typed("object", "A JSON Schema that every answer must match."),
        surface=surface_config("The form of each turn."),
        endWhen=schemas.expression_string(
            "An expression that is evaluated after each answer. If it is true, the conversation ends."
        ),
        channel=schemas.name_string(
            "The channel that the prompts and answers are written to. It must have the reducer `message`.",
            MAX_CHANNEL_NAME,
            default=DEFAULT_CHANNEL,
        ),
        mockAutoResume=schemas.typed(
            "boolean",
            "Whether the host answers each turn with a fixed text. For tests and demonstrations.",
            default=False,
        ),
        **TIMEOUT_CONFIG,
    ),
    expressions={"/endWhen": _EXPRESSION_NAMES},
    templates={
        "/prompt": _EXPRESSION_NAMES,
        "/prompts/*": _EXPRESSION_NAMES,
        "/title": (),
        "/initialPrompt": (),
        **SURFACE_TEMPLATES,
    },
    check_config=_check,
    notes=f"""
Each turn requests an interrupt and waits for its answer. The answer must match `outcomeSchema`; without a schema it can
be any value. In the prompts and in `endWhen`, `answer` is the last answer (null before the first one) and `turn` is the
number of the turn, counted from 1. `timeoutMs` applies to each turn: after a timeout the conversation is closed, and
the node fails with `interrupt_timeout`.

`surface` is a [form](../../how-to/ask-with-a-form.md) for each turn. Its buttons have the target `exchange`. The answer
is then an object with `action`, the id of the pressed button, and the values by field id. A surface cannot be combined
with `outcomeSchema` or `mockAutoResume`.

When the conversation is over, the node writes the prompts with the role `system` and the answers with the role `user`
to the channel `channel`. If the config names a channel that is not declared with the reducer `message`, the node fails
with `node_config_invalid`. If the config names no channel, the node writes to `{DEFAULT_CHANNEL}` only if that is
declared with the reducer `message`.

Each round of a loop is a new conversation. A host with `--no-conversation` does not have this type.
""",
    example_config={
        "title": "Trip to {{variables.city}}",
        "prompts": ["When do you leave?", "You said {{answer}}. When do you come back?"],
        _MOCK: True,
    },
)
async def conversation_gate(call: NodeCall, context: NodeContext) -> NodeOutcome:
    config = call.config
    if "channel" in config and call.scope.reducer(config["channel"]) != "message":
        message = "The channel in config channel is not declared with the reducer message."
        return Failed("node_config_invalid", message, retryable=False)
    opening = await context.compute(partial(_render_opening, call))
    form = await context.compute(partial(form_payload, call))
    if form is not None and (config.get(_MOCK) or _SCHEMA in config):
        message = "The input surface cannot be combined with outcomeSchema or mockAutoResume."
        return Failed("node_config_invalid", message, retryable=False)
    own_id = conversation_id(call)
    key, known = default_interrupt_key(call), {"conversationId": own_id}
    await context.ask(Interrupt("conversation.start", f"{key}:start", {**known, **opening}))
    turns: list[_Turn] = []
    failure: Failed | None = None
    try:
        reason = await _run_turns(call, context, own_id, turns, form)
        failure = TIMED_OUT if reason == "timeout" else None
    except ExpressionFault as fault:
        reason, failure = "failed", raised_failure(fault)
    await context.ask(Interrupt("conversation.close", f"{key}:close", {**known, "reason": reason}))
    if failure is not None:
        return failure
    listed = [{"turnIndex": each.index, "prompt": each.prompt, "answer": each.answer} for each in turns]
    outputs = {**known, "turns": listed, "outcome": turns[-1].answer}
    return Completed(outputs, tuple(_channel_messages(call, opening, turns)))


async def _run_turns(
    call: NodeCall, context: NodeContext, own_id: str, turns: list[_Turn], form: dict[str, Any] | None
) -> str:
    """Run the turns, append them to `turns`, and return why the conversation ended. Raises ExpressionFault."""
    config = call.config
    for index in range(1, _turn_count(config) + 1):
        answer = turns[-1].answer if turns else None
        prompt = await context.compute(partial(_turn_prompt, call, index, answer))
        resolution = await _exchange(call, context, own_id, index, prompt, form)
        if resolution.timed_out:
            return "timeout"
        turns.append(_Turn(index, prompt, resolution.value, resolution.by or call.node_id))
        if "endWhen" in config:
            names = {"ports": call.inputs, "answer": resolution.value, "turn": index}
            if await context.compute(partial(call.scope.evaluate, config["endWhen"], names)) is True:
                return "goal-reached"
    return "max-turns"


async def _exchange(
    call: NodeCall, context: NodeContext, own_id: str, index: int, prompt: str, form: dict[str, Any] | None
) -> Resolution:
    config = call.config
    data: dict[str, Any] = {"conversationId": own_id, "prompt": prompt, "turnIndex": index}
    if _SCHEMA in config:
        data[_SCHEMA] = config[_SCHEMA]
    interrupt = Interrupt(
        "conversation.exchange",
        f"{default_interrupt_key(call)}:{index}",
        data,
        timeout_ms=timeout_ms(config),
        remind_after_ms=reminders_ms(config),
        form=form,
    )
    if config.get(_MOCK):
        return await context.ask(interrupt, instead=MOCK_ANSWER)
    return await context.ask(interrupt)


def _render_opening(call: NodeCall) -> dict[str, str]:
    """The title and the text that open the conversation. Raises ExpressionFault."""
    config = call.config
    opening = {"title": _render_truncated(call, config.get("title", DEFAULT_TITLE)) or DEFAULT_TITLE}
    if "initialPrompt" in config:
        opening["initialPrompt"] = _render_truncated(call, config["initialPrompt"])
    return opening


def _render_truncated(call: NodeCall, text: str) -> str:
    return truncate_utf8(render(call, text), MAX_PROMPT)


def _turn_prompt(call: NodeCall, index: int, answer: Any) -> str:
    prompts = call.config.get("prompts", [])
    text = prompts[index - 1] if index <= len(prompts) else call.config.get("prompt", DEFAULT_PROMPT)
    names = {"ports": call.inputs, "answer": answer, "turn": index}
    return truncate_utf8(call.scope.render(text, names), MAX_PROMPT) or DEFAULT_PROMPT


def _channel_messages(call: NodeCall, opening: dict[str, str], turns: list[_Turn]) -> list[WriteChannel]:
    """The channel writes. Message ids contain no run id and no time, so equal runs write equal messages."""
    channel = call.config.get("channel", DEFAULT_CHANNEL)
    if call.scope.reducer(channel) != "message":
        return []
    base = f"{call.node_id}.{call.visit}"
    messages: list[tuple[str, str, str, Any, int]] = []
    if "initialPrompt" in opening:
        messages.append((f"{base}.0", call.node_id, "system", opening["initialPrompt"], 0))
    for each in turns:
        messages.append((f"{base}.{each.index}.prompt", call.node_id, "system", each.prompt, each.index))
        messages.append((f"{base}.{each.index}", each.by, "user", each.answer, each.index))
    return [
        WriteChannel(
            channel,
            {"messageId": message_id, "from": speaker, "role": role, "content": content, "turnIndex": index},
            "message",
        )
        for message_id, speaker, role, content, index in messages
    ]
