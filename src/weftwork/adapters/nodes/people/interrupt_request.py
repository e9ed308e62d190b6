"""What node types that open interrupts share: the key of an interrupt, its timeout, and the schema of its answers."""

from typing import Any, Final

import msgspec

from weftwork.adapters.nodes.schemas import Schema, integer, name_string, typed
from weftwork.ports.node_outcome import INTERRUPT_KEY_REUSED, Failed, Suspended
from weftwork.ports.nodes import NodeCall
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.people.interrupt_validation import MAX_KEY_LENGTH, MAX_REMINDERS, MAX_TIMEOUT_MS, check_interrupt
from weftwork.protocol.run.interrupts import Interrupt, Resolution, is_answer_to

TIMED_OUT: Final = Failed("interrupt_timeout", "Nobody answered in time.", retryable=False)

TIMEOUT_CONFIG: Final[dict[str, Schema]] = {
    "timeoutMs": integer(1, MAX_TIMEOUT_MS, "How long an answer is waited for, in milliseconds; forever without it."),
    "remindAfterMs": typed(
        "array",
        "When those who follow the run are reminded, in milliseconds from the question on, ascending.",
        items={"type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_MS},
        minItems=1,
        maxItems=MAX_REMINDERS,
    ),
}
KEY_CONFIG: Final[dict[str, Schema]] = {
    "key": name_string("Names the question within the run, instead of the id of the node.", MAX_KEY_LENGTH)
}
RESUME_SCHEMA_CONFIG: Final[dict[str, Schema]] = {
    "resumeSchema": typed("object", "A JSON Schema that an answer must fit.")
}
KEY_NOTES: Final = """
Without `key` the question is known by the id of the node, in later rounds of a loop followed by `:1`, `:2` and so on. A
question whose key was answered before in this run is not asked again: it gets the recorded answer. So with a `key`, a
question inside a loop is asked in the first round only.
""".strip()


def default_interrupt_key(call: NodeCall) -> str:
    """The id of the node, and once a loop has come round to it how often: each round asks anew."""
    return f"{call.node_id}:{call.visit}" if call.visit else call.node_id


def interrupt_key(call: NodeCall) -> str:
    return call.config.get("key") or default_interrupt_key(call)


def resolve_or_suspend(call: NodeCall, kind: str, data: dict[str, Any]) -> Resolution | Failed | Suspended:
    """What became of the question of a node, or that it is asked, with the times and schema that its config gives."""
    config = call.config
    reminders = tuple(config.get("remindAfterMs", ()))
    asked = Interrupt(kind, interrupt_key(call), data, config.get("resumeSchema"), timeout_ms(config), reminders)
    found = call.answers.get(asked.key)
    if found is None:
        return Suspended(asked)
    return found if is_answer_to(found, call.node_id, asked) else INTERRUPT_KEY_REUSED


def timeout_ms(config: dict[str, Any]) -> int | None:
    return config["timeoutSec"] * 1000 if "timeoutSec" in config else config.get("timeoutMs")


def check_interrupt_config(
    config: dict[str, Any], kind: str, data: dict[str, Any], inside: bool = False
) -> list[Violation]:
    """What keeps a config's question from being asked, by pointer. `inside`: the config holds the data as `data`."""
    timeout, reminders = timeout_ms(config), tuple(config.get("remindAfterMs", ()))
    asked = Interrupt(kind, config.get("key", kind), data, config.get("resumeSchema"), timeout, reminders)
    violations = check_interrupt(asked)
    if not inside:
        violations = [msgspec.structs.replace(each, pointer=each.pointer.removeprefix("/data")) for each in violations]
    if "timeoutSec" in config and "timeoutMs" in config:
        violations.append(Violation("/timeoutSec", "not", "stands for timeoutMs, which is there too"))
    if timeout is not None and reminders and reminders[-1] >= timeout:
        violations.append(Violation("/remindAfterMs", "maximum", "must come before the time is up"))
    return violations


def check_timeout_default(config: dict[str, Any], member: str) -> list[Violation]:
    """What is taken when the time is up needs a time that can be up."""
    if member in config and timeout_ms(config) is None:
        return [Violation(f"/{member}", "required", "is never taken without timeoutMs")]
    return []
