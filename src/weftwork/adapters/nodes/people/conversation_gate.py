"""The node type core.conversationGate: a conversation of several turns with a person."""

from typing import Any, Final

import msgspec

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.call_inputs import render, truncate_utf8
from weftwork.adapters.nodes.people.interrupt_request import (
    TIMED_OUT,
    TIMEOUT_CONFIG,
    check_interrupt_config,
    default_interrupt_key,
    timeout_ms,
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
"""There is always one: by its id alone, the schema could not tell the beginning of a conversation from its end."""
DEFAULT_PROMPT: Final = "Please answer."
MOCK_ANSWER: Final = "Answered by the host."
MAX_TURNS: Final = 100
MAX_PROMPT: Final = 8_192

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
    data |= {member: config[member] for member in ("outcomeSchema",) if member in config}
    violations = check_interrupt_config(config, "conversation.exchange", data)
    if len(config.get("prompts", ())) > _turn_count(config):
        violations.append(Violation("/prompts", "maxItems", "holds more prompts than there are turns"))
    if not violations and config.get("mockAutoResume") and "outcomeSchema" in config:
        wrong = check_value(config["outcomeSchema"], MOCK_ANSWER, "")
        if wrong:
            what = "answers with a text, which outcomeSchema does not take"
            violations.append(Violation("/mockAutoResume", "not", what))
    return violations


@waiting_node(
    "core.conversationGate",
    "Talks with a person, turn by turn.",
    writes_channel="channel",
    inputs=schemas.port_schema(),
    outputs=schemas.fixed_ports(
        conversationId=schemas.typed("string", "The id of the conversation."),
        turns=schemas.typed("array", "Each turn, as {turnIndex, prompt, answer}."),
        outcome=schemas.any_value("The last answer."),
    ),
    config=schemas.closed_object(
        lifecycle=schemas.one_of(
            ("open-exchange-close",),
            "The conversation is opened, goes on turn by turn, and is closed.",
            default="open-exchange-close",
        ),
        turnCount=schemas.integer(1, MAX_TURNS, "How many turns; as many as there are `prompts`, or one."),
        prompt=schemas.template_string("What a turn begins with, as a template.", default=DEFAULT_PROMPT),
        prompts=schemas.typed(
            "array",
            "What the first turns begin with, one by one, instead of `prompt`.",
            minItems=1,
            maxItems=MAX_TURNS,
            items=schemas.template_string("What this turn begins with."),
        ),
        title=schemas.template_string("What the conversation is called, as a template.", default=DEFAULT_TITLE),
        initialPrompt=schemas.template_string("What the conversation opens with, as a template."),
        outcomeSchema=schemas.typed("object", "A JSON Schema that every answer must fit."),
        endWhen=schemas.expression_string("Asked after each answer; if it is true there are no more turns."),
        channel=schemas.name_string(
            "The channel that gets what was said, if it has the reducer `message`.",
            MAX_CHANNEL_NAME,
            default=DEFAULT_CHANNEL,
        ),
        mockAutoResume=schemas.typed(
            "boolean", "Answers itself with a fixed text, for tests and demonstrations.", default=False
        ),
        **TIMEOUT_CONFIG,
    ),
    expressions={"/endWhen": _EXPRESSION_NAMES},
    templates={
        "/prompt": _EXPRESSION_NAMES,
        "/prompts/*": _EXPRESSION_NAMES,
        "/title": (),
        "/initialPrompt": (),
    },
    check_config=_check,
    notes=f"""
Each turn asks and waits for its answer, whatever that is, or what `outcomeSchema` says. In prompts and in `endWhen`,
`answer` is the last answer (null before the first one) and `turn` the number of the turn, from 1 on. `timeoutMs` is for
each turn: when it is up the conversation is closed and the node fails with `interrupt_timeout`.

When it is over, what was said goes to the channel `{DEFAULT_CHANNEL}`, or the one that `channel` names: prompts with
the role `system`, answers with the role `user`. A channel that `channel` names has to be declared with the reducer
`message`, or the node fails with `node_config_invalid`. Each round of a loop is a conversation of its own. A host with
`--no-conversation` does not have this type.
""",
    example_config={
        "title": "Trip to {{variables.city}}",
        "prompts": ["When do you leave?", "You said {{answer}}. When do you come back?"],
        "mockAutoResume": True,
    },
)
async def conversation_gate(call: NodeCall, context: NodeContext) -> NodeOutcome:
    config = call.config
    if "channel" in config and call.scope.reducer(config["channel"]) != "message":
        message = "The channel of the conversation is not declared with the reducer message."
        return Failed("node_config_invalid", message, retryable=False)
    opening = {"title": _render_truncated(call, config.get("title", DEFAULT_TITLE)) or DEFAULT_TITLE}
    if "initialPrompt" in config:
        opening["initialPrompt"] = _render_truncated(call, config["initialPrompt"])
    # Nobody else's in this tenant, and another one in each round of a loop.
    conversation_id = f"{call.run_id}:{call.node_id}:{call.visit}"
    key, known = default_interrupt_key(call), {"conversationId": conversation_id}
    await context.ask(Interrupt("conversation.start", f"{key}:start", {**known, **opening}))
    turns: list[_Turn] = []
    failure: Failed | None = None
    try:
        reason = await _run_turns(call, context, conversation_id, turns)
        failure = TIMED_OUT if reason == "timeout" else None
    except ExpressionFault as fault:
        reason, failure = "failed", raised_failure(fault)
    await context.ask(Interrupt("conversation.close", f"{key}:close", {**known, "reason": reason}))
    if failure is not None:
        return failure
    shown = [{"turnIndex": each.index, "prompt": each.prompt, "answer": each.answer} for each in turns]
    outputs = {**known, "turns": shown, "outcome": turns[-1].answer}
    return Completed(outputs, tuple(_channel_messages(call, opening, turns)))


async def _run_turns(call: NodeCall, context: NodeContext, conversation_id: str, turns: list[_Turn]) -> str:
    """Goes from turn to turn, and says why there is no more. Raises ExpressionFault."""
    config = call.config
    for index in range(1, _turn_count(config) + 1):
        answer = turns[-1].answer if turns else None
        prompt = _turn_prompt(call, index, answer)
        resolution = await _exchange(call, context, conversation_id, index, prompt)
        if resolution.timed_out:
            return "timeout"
        turns.append(_Turn(index, prompt, resolution.value, resolution.by or call.node_id))
        if "endWhen" in config:
            names = {"ports": call.inputs, "answer": resolution.value, "turn": index}
            if call.scope.evaluate(config["endWhen"], names) is True:
                return "goal-reached"
    return "max-turns"


async def _exchange(call: NodeCall, context: NodeContext, conversation_id: str, index: int, prompt: str) -> Resolution:
    config = call.config
    data: dict[str, Any] = {"conversationId": conversation_id, "prompt": prompt, "turnIndex": index}
    if "outcomeSchema" in config:
        data["outcomeSchema"] = config["outcomeSchema"]
    question = Interrupt(
        "conversation.exchange",
        f"{default_interrupt_key(call)}:{index}",
        data,
        timeout_ms=timeout_ms(config),
        remind_after_ms=tuple(config.get("remindAfterMs", ())),
    )
    return await (context.ask(question, instead=MOCK_ANSWER) if config.get("mockAutoResume") else context.ask(question))


def _render_truncated(call: NodeCall, text: str) -> str:
    return truncate_utf8(render(call, text), MAX_PROMPT)


def _turn_prompt(call: NodeCall, index: int, answer: Any) -> str:
    prompts = call.config.get("prompts", [])
    text = prompts[index - 1] if index <= len(prompts) else call.config.get("prompt", DEFAULT_PROMPT)
    names = {"ports": call.inputs, "answer": answer, "turn": index}
    return truncate_utf8(call.scope.render(text, names), MAX_PROMPT) or DEFAULT_PROMPT


def _channel_messages(call: NodeCall, opening: dict[str, str], turns: list[_Turn]) -> list[WriteChannel]:
    """What was said, for the channel. Ids hold neither run nor time, so that equal runs write equal messages."""
    channel = call.config.get("channel", DEFAULT_CHANNEL)
    if call.scope.reducer(channel) != "message":
        return []
    base = f"{call.node_id}.{call.visit}"
    said: list[tuple[str, str, str, Any, int]] = []
    if "initialPrompt" in opening:
        said.append((f"{base}.0", call.node_id, "system", opening["initialPrompt"], 0))
    for each in turns:
        said.append((f"{base}.{each.index}.prompt", call.node_id, "system", each.prompt, each.index))
        said.append((f"{base}.{each.index}", each.by, "user", each.answer, each.index))
    return [
        WriteChannel(
            channel,
            {"messageId": message_id, "from": speaker, "role": role, "content": content, "turnIndex": index},
            "message",
        )
        for message_id, speaker, role, content, index in said
    ]
