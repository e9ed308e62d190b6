"""Config members of node types that request interrupts: key, timeout and answer schema; and how they are applied."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from weftwork.adapters.nodes.schemas import Schema, integer, name_string, typed
from weftwork.ports.node_outcome import GRANTED_FOR_OTHER_CONTENT, INTERRUPT_KEY_REUSED, Failed, Suspended
from weftwork.ports.nodes import NodeCall
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.people.approvals import is_granted_for_other_content
from weftwork.protocol.people.interrupt_validation import MAX_KEY_LENGTH, MAX_REMINDERS, MAX_TIMEOUT_MS, check_interrupt
from weftwork.protocol.run.interrupts import Interrupt, Resolution, is_answer_to

TIMED_OUT: Final = Failed("interrupt_timeout", "The interrupt was not answered within its timeout.", retryable=False)

TIMEOUT_CONFIG: Final[dict[str, Schema]] = {
    "timeoutMs": integer(
        1, MAX_TIMEOUT_MS, "The timeout of the interrupt in milliseconds. By default there is no timeout."
    ),
    "remindAfterMs": typed(
        "array",
        "When the host emits reminders, in milliseconds after the request of the interrupt, in ascending order.",
        items={"type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_MS},
        minItems=1,
        maxItems=MAX_REMINDERS,
    ),
}
KEY_CONFIG: Final[dict[str, Schema]] = {
    "key": name_string("The key of the interrupt in the run. The default is the id of the node.", MAX_KEY_LENGTH)
}
RESUME_SCHEMA_CONFIG: Final[dict[str, Schema]] = {
    "resumeSchema": typed("object", "A JSON Schema that the answer must match.")
}
KEY_NOTES: Final = """
The key of the interrupt is `key`, or the id of the node. In later rounds of a loop, `:1`, `:2` and so on is appended to
the id of the node. If an interrupt with the same key was already answered in this run, the node uses the recorded
answer and requests no interrupt. A node with a `key` inside a loop therefore asks only in the first round.
""".strip()
APPROVAL_KEY_NOTES: Final = f"""
{KEY_NOTES}

A recorded approval or `low-confidence` decision about [untrusted content](../../concepts.md#trust) is not used for
other content: the node then fails with `untrusted_content_blocks_approval`.
""".strip()


def default_interrupt_key(call: NodeCall) -> str:
    """The id of the node, followed by the round from the second round of a loop on, so that each round asks again."""
    return f"{call.node_id}:{call.visit}" if call.visit else call.node_id


def interrupt_key(call: NodeCall) -> str:
    return call.config.get("key") or default_interrupt_key(call)


def resolve_or_suspend(
    call: NodeCall, kind: str, data: dict[str, Any], form: Callable[[], dict[str, Any] | None] | None = None
) -> Resolution | Failed | Suspended:
    """The resolution of the node's interrupt, or Suspended if the interrupt must be requested first.

    Failed if the key belongs to another interrupt, or if the answer was given for other content and the node has
    untrusted content. `form` returns the payload of the surface that is the form of the interrupt.
    """
    config = call.config
    times = timeout_ms(config), reminders_ms(config)
    interrupt = Interrupt(kind, interrupt_key(call), data, config.get("resumeSchema"), *times)
    resolution = call.answers.get(interrupt.key)
    if resolution is None:
        return Suspended(interrupt if form is None else msgspec.structs.replace(interrupt, form=form()))
    if not is_answer_to(resolution, call.node_id, interrupt):
        return INTERRUPT_KEY_REUSED
    if is_granted_for_other_content(resolution, interrupt, call.scope.untrusted):
        return GRANTED_FOR_OTHER_CONTENT
    return resolution


def timeout_ms(config: dict[str, Any]) -> int | None:
    return config["timeoutSec"] * 1000 if "timeoutSec" in config else config.get("timeoutMs")


def reminders_ms(config: dict[str, Any]) -> tuple[int, ...]:
    return tuple(config.get("remindAfterMs", ()))


def check_interrupt_config(
    config: dict[str, Any], kind: str, data: dict[str, Any], inside: bool = False
) -> list[Violation]:
    """Check the interrupt that a config describes. `inside`: the data of the interrupt is the config member `data`."""
    timeout, reminders = timeout_ms(config), reminders_ms(config)
    interrupt = Interrupt(kind, config.get("key", kind), data, config.get("resumeSchema"), timeout, reminders)
    violations = check_interrupt(interrupt)
    if not inside:
        violations = [msgspec.structs.replace(each, pointer=each.pointer.removeprefix("/data")) for each in violations]
    if "timeoutSec" in config and "timeoutMs" in config:
        violations.append(Violation("/timeoutSec", "not", "cannot be combined with timeoutMs"))
    if timeout is not None and reminders and reminders[-1] >= timeout:
        violations.append(Violation("/remindAfterMs", "maximum", "must be shorter than the timeout"))
    return violations


def check_timeout_default(config: dict[str, Any], member: str) -> list[Violation]:
    """A default for a timeout requires a timeout."""
    if member in config and timeout_ms(config) is None:
        return [Violation(f"/{member}", "required", "has no effect without timeoutMs")]
    return []


def conversation_id(call: NodeCall) -> str:
    """The id of the conversation of this entry: unique in the tenant, and different in each round of a loop. A branch
    continues the conversation of its source under the same id."""
    opened = call.answers.get(f"{default_interrupt_key(call)}:start")
    if opened is not None and opened.conversation_id is not None:
        return opened.conversation_id
    return f"{call.run_id}:{call.node_id}:{call.visit}"
