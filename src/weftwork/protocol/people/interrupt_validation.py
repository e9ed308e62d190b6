"""Validation of interrupts and of their answers, and the canonical form of answers.

Answers to approvals are in `approvals`.

Sources: OpenWOP interrupt, RFC 0094 E.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.json import schema
from weftwork.protocol.json.caller_schema import check_caller_schema, check_value
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_array, is_object, json_equal
from weftwork.protocol.people.approvals import RESOLVING_ACTIONS
from weftwork.protocol.run.interrupts import INTERRUPT_KINDS, Interrupt, InterruptState

MAX_KEY_LENGTH: Final = 256
MAX_REMINDERS: Final = 16
MAX_QUESTIONS: Final = 50
MAX_SCHEMA_BYTES: Final = 65_536
"""Maximum total size of the schemas of a clarification's questions."""
MAX_TIMEOUT_MS: Final = 10 * 366 * 86_400_000
"""Ten years."""


def check_interrupt(interrupt: Interrupt, at: str = "") -> list[Violation]:
    """int-08 (RFC 0094 E): the violations of a requested interrupt, with pointers below `at`.

    The schemas of its answers may come from a caller, so they must be within the dialect of callers' schemas.
    """
    kind = INTERRUPT_KINDS.get(interrupt.kind)
    if kind is None:
        return [Violation(f"{at}/kind", "enum", f"must be one of: {', '.join(INTERRUPT_KINDS)}")]
    found = schema.check_part("suspend-request", kind.data, interrupt.data, f"{at}/data")
    if not 0 < len(interrupt.key) <= MAX_KEY_LENGTH:
        found.append(Violation(f"{at}/key", "maxLength", f"must have 1 to {MAX_KEY_LENGTH} characters"))
    if interrupt.resume_schema is not None:
        found += check_caller_schema(interrupt.resume_schema, f"{at}/resumeSchema")
    if interrupt.timeout_ms is not None and not 0 <= interrupt.timeout_ms <= MAX_TIMEOUT_MS:
        found.append(Violation(f"{at}/timeoutMs", "maximum", f"must be from 0 to {MAX_TIMEOUT_MS} (ten years)"))
    after = interrupt.remind_after_ms
    is_ascending = all(first < second for first, second in pairwise(after))
    if len(after) > MAX_REMINDERS or not is_ascending or not all(0 < each <= MAX_TIMEOUT_MS for each in after):
        text = f"must be a list of at most {MAX_REMINDERS} times in milliseconds, in ascending order"
        found.append(Violation(f"{at}/remindAfterMs", "items", text))
    check = _CHECK_BY_KIND.get(interrupt.kind)
    return found if found or check is None else check(interrupt.data, f"{at}/data")


def _check_approval(data: dict[str, Any], at: str) -> list[Violation]:
    required, approvers = data.get("requiredApprovals", 1), data.get("approversList", [])
    if not RESOLVING_ACTIONS.intersection(data["actions"]):
        text = f"must contain at least one of {', '.join(sorted(RESOLVING_ACTIONS))}"
        return [Violation(f"{at}/actions", "contains", text)]
    if required > 1 and "edit-accept" in data["actions"]:
        text = (
            "must not contain edit-accept if several approvals are required: an edit would change what others approved"
        )
        return [Violation(f"{at}/actions", "contains", text)]
    if len(set(approvers)) != len(approvers):
        return [Violation(f"{at}/approversList", "uniqueItems", "must not contain an item twice")]
    if approvers and required > len(approvers):
        text = f"must be {len(approvers)} or less, the length of approversList"
        return [Violation(f"{at}/requiredApprovals", "maximum", text)]
    return []


def _check_questions(data: dict[str, Any], at: str) -> list[Violation]:
    questions: list[dict[str, Any]] = data["questions"]
    if len(questions) > MAX_QUESTIONS:
        return [Violation(f"{at}/questions", "maxItems", f"must have {MAX_QUESTIONS} or fewer items")]
    if len({each["id"] for each in questions}) != len(questions):
        return [Violation(f"{at}/questions", "uniqueItems", "must not contain an id twice")]
    if sum(len(encode_stored(each.get("schema"))) for each in questions) > MAX_SCHEMA_BYTES:
        return [Violation(f"{at}/questions", "size", f"has schemas of more than {MAX_SCHEMA_BYTES:,} bytes in total")]
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


MAX_STEPS: Final = 200_000
"""Limit of steps for the validation of one answer. It is low, because anyone with a link can send an answer."""
_RESUME_VALUE: Final = "/resumeValue"


def normalize_answer(interrupt: InterruptState, value: Any, quiet: bool = False) -> Any:
    """int-09 (RFC 0094 E): the answer to an interrupt, except an approval, in canonical form. Raises ClientFault.

    `quiet`: the data of the interrupt is hidden, so error messages do not quote its schemas.
    """
    if interrupt.kind == "clarification":
        value = _clarification_answers(interrupt.data, value, quiet)
    elif interrupt.kind == "external-event":
        _check_correlation(interrupt.data["correlation"], value)
    elif interrupt.kind == "conversation.exchange" and "outcomeSchema" in interrupt.data:
        _check_schema(interrupt.data["outcomeSchema"], value, _RESUME_VALUE, quiet)
    check_resume_value(interrupt, value, quiet)
    return value


def check_resume_value(interrupt: InterruptState, value: Any, quiet: bool = False) -> None:
    """int-10 (OpenWOP interrupt): raises ClientFault if the answer does not match the interrupt's `resumeSchema`."""
    if interrupt.resume_schema is not None:
        _check_schema(interrupt.resume_schema, value, _RESUME_VALUE, quiet)


def _check_schema(schema: dict[str, Any], value: Any, at: str, quiet: bool, share: int = 1) -> None:
    if wrong := check_value(schema, value, at, MAX_STEPS // share):
        why = "" if quiet else f": {wrong[0].message}"
        raise invalid(f"The answer does not match the schema of the interrupt{why}.", at if quiet else wrong[0].pointer)


def _clarification_answers(data: dict[str, Any], value: Any, quiet: bool) -> dict[str, Any]:
    """int-11 (readings, Clarification answers): accepts a list or an object, and returns an object by question id."""
    answers: Any = value.get("answers") if is_object(value) else None
    if is_array(answers):
        listed = [each for each in answers if is_object(each) and isinstance(each.get("id"), str) and "answer" in each]
        if len(listed) != len(answers):
            raise invalid("Each item of a list of answers must have an id and an answer.", f"{_RESUME_VALUE}/answers")
        if len({each["id"] for each in listed}) != len(listed):
            raise invalid("The list has two answers to the same question.", f"{_RESUME_VALUE}/answers")
        answers = {each["id"]: each["answer"] for each in listed}
    if not is_object(answers):
        raise invalid("A clarification requires answers, an object by question id.", f"{_RESUME_VALUE}/answers")
    questions = {each["id"]: each.get("schema") for each in data["questions"]}
    for name in answers:
        if name not in questions:
            raise invalid("The answers contain an unknown question id.", f"{_RESUME_VALUE}/answers")
    for name, answer_schema in questions.items():
        if answers.get(name) is None and not (name in answers and answer_schema is not None):
            raise invalid(f"The question {name} has no answer.", f"{_RESUME_VALUE}/answers", questionId=name)
        if answer_schema is not None:
            _check_schema(
                answer_schema, answers[name], f"{_RESUME_VALUE}/answers/{printable_token(name)}", quiet, len(questions)
            )
    rest = {name: each for name, each in value.items() if name != "answers"}
    return {**rest, "answers": {name: answers[name] for name in questions}}


def _check_correlation(correlation: dict[str, Any], value: Any) -> None:
    """int-12 (interrupt-profiles, external-event): raises ClientFault unless the event has every member of the
    correlation with an equal value."""
    inner = value.get("eventPayload") if is_object(value) else None
    if any(is_object(each) and _matches_correlation(each, correlation) for each in (value, inner)):
        return
    text = "The event does not match the correlation that the interrupt waits for."
    raise ClientFault("validation_error", text, {"pointer": _RESUME_VALUE}, status=422)


def _matches_correlation(event: dict[str, Any], correlation: dict[str, Any]) -> bool:
    return all(name in event and json_equal(event[name], value) for name, value in correlation.items())
