"""What a node may ask: validates the data of each kind of interrupt, its schemas and its reminders."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

from weftwork.protocol.json import schema
from weftwork.protocol.json.caller_schema import check_caller_schema
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.people.approvals import RESOLVING_ACTIONS
from weftwork.protocol.run.interrupts import INTERRUPT_KINDS, Interrupt

MAX_KEY_LENGTH: Final = 256
MAX_REMINDERS: Final = 16
MAX_QUESTIONS: Final = 50
MAX_SCHEMA_BYTES: Final = 65_536
"""Bytes of the schemas of all questions that are asked together."""
MAX_TIMEOUT_MS: Final = 10 * 366 * 86_400_000
"""Ten years: longer than anybody waits."""


def check_interrupt(asked: Interrupt, at: str = "") -> list[Violation]:
    """int-08 (RFC 0094 E): what keeps a question from being asked; pointers lie below `at`.

    Schemas for its answers may come from anybody, so they are held to the dialect of callers' schemas.
    """
    kind = INTERRUPT_KINDS.get(asked.kind)
    if kind is None:
        return [Violation(f"{at}/kind", "enum", f"must be one of: {', '.join(INTERRUPT_KINDS)}")]
    source = schema.document("suspend-request")["$id"]
    found = schema.check_inline({"$ref": f"{source}#/$defs/{kind.data}"}, asked.data, f"{at}/data")
    if not 0 < len(asked.key) <= MAX_KEY_LENGTH:
        found.append(Violation(f"{at}/key", "maxLength", f"takes 1 to {MAX_KEY_LENGTH} characters"))
    if asked.resume_schema is not None:
        found += check_caller_schema(asked.resume_schema, f"{at}/resumeSchema")
    if asked.timeout_ms is not None and not 0 <= asked.timeout_ms <= MAX_TIMEOUT_MS:
        found.append(Violation(f"{at}/timeoutMs", "maximum", f"must be from 0 to {MAX_TIMEOUT_MS}"))
    found += _check_reminders(asked.remind_after_ms, at)
    check = _CHECK_BY_KIND.get(asked.kind)
    return found if found or check is None else check(asked.data, f"{at}/data")


def _check_reminders(after: tuple[int, ...], at: str) -> list[Violation]:
    rising = all(first < second for first, second in pairwise(after))
    if len(after) <= MAX_REMINDERS and rising and all(0 < each <= MAX_TIMEOUT_MS for each in after):
        return []
    text = f"takes up to {MAX_REMINDERS} numbers of milliseconds, each greater than the one before"
    return [Violation(f"{at}/remindAfterMs", "items", text)]


def _check_approval(data: dict[str, Any], at: str) -> list[Violation]:
    required, approvers = data.get("requiredApprovals", 1), data.get("approversList", [])
    if not RESOLVING_ACTIONS.intersection(data["actions"]):
        return [Violation(f"{at}/actions", "contains", "needs an action that ends the wait")]
    if required > 1 and "edit-accept" in data["actions"]:
        text = "takes no edit-accept where several approve: the others would have approved something else"
        return [Violation(f"{at}/actions", "contains", text)]
    if len(set(approvers)) != len(approvers):
        return [Violation(f"{at}/approversList", "uniqueItems", "must not repeat an item")]
    if approvers and required > len(approvers):
        return [Violation(f"{at}/requiredApprovals", "maximum", f"must be {len(approvers)} or less: that many approve")]
    return []


def _check_questions(data: dict[str, Any], at: str) -> list[Violation]:
    questions: list[dict[str, Any]] = data["questions"]
    if len(questions) > MAX_QUESTIONS:
        return [Violation(f"{at}/questions", "maxItems", f"takes {MAX_QUESTIONS} or fewer items")]
    if len({each["id"] for each in questions}) != len(questions):
        return [Violation(f"{at}/questions", "uniqueItems", "must not repeat an id")]
    if sum(len(encode_stored(each.get("schema"))) for each in questions) > MAX_SCHEMA_BYTES:
        return [Violation(f"{at}/questions", "size", f"holds schemas of more than {MAX_SCHEMA_BYTES} bytes in all")]
    found: list[Violation] = []
    for index, each in enumerate(questions):
        if "schema" in each:
            found += check_caller_schema(each["schema"], f"{at}/questions/{index}/schema")
    return found


_CHECK_BY_KIND: Final[dict[str, Callable[[dict[str, Any], str], list[Violation]]]] = {
    "approval": _check_approval,
    "clarification": _check_questions,
    "conversation.exchange": lambda data, at: (
        check_caller_schema(data["outcomeSchema"], f"{at}/outcomeSchema") if "outcomeSchema" in data else []
    ),
}
