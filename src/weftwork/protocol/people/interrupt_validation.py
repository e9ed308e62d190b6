"""What a node may ask and what may be answered: the data of each kind of interrupt, its schemas and its reminders, and
the one form in which an answer is kept.

Answers to approvals are in `approvals`. Sources: OpenWOP interrupt, RFC 0094 E.
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
    after = asked.remind_after_ms
    rising = all(first < second for first, second in pairwise(after))
    if len(after) > MAX_REMINDERS or not rising or not all(0 < each <= MAX_TIMEOUT_MS for each in after):
        text = f"takes up to {MAX_REMINDERS} numbers of milliseconds, each greater than the one before"
        found.append(Violation(f"{at}/remindAfterMs", "items", text))
    check = _CHECK_BY_KIND.get(asked.kind)
    return found if found or check is None else check(asked.data, f"{at}/data")


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


MAX_STEPS: Final = 200_000
"""Steps that validating one answer may take. Limited, because anyone with a link can send an answer."""
_RESUME_VALUE: Final = "/resumeValue"


def normalize_answer(asked: InterruptState, value: Any, quiet: bool = False) -> Any:
    """int-09 (RFC 0094 E): the answer to a question that is no approval, in its one form. Raises ClientFault.

    `quiet`: what was asked is hidden, so no word of its schemas is said.
    """
    if asked.kind == "clarification":
        value = _clarification_answers(asked.data, value, quiet)
    elif asked.kind == "external-event":
        _check_correlation(asked.data["correlation"], value)
    elif asked.kind == "conversation.exchange" and "outcomeSchema" in asked.data:
        _check_schema(asked.data["outcomeSchema"], value, _RESUME_VALUE, quiet)
    check_resume_value(asked, value, quiet)
    return value


def check_resume_value(asked: InterruptState, value: Any, quiet: bool = False) -> None:
    """int-10 (OpenWOP interrupt): an answer fits the schema that came with the question. Raises ClientFault."""
    if asked.resume_schema is not None:
        _check_schema(asked.resume_schema, value, _RESUME_VALUE, quiet)


def _check_schema(schema: dict[str, Any], value: Any, at: str, quiet: bool, share: int = 1) -> None:
    if wrong := check_value(schema, value, at, MAX_STEPS // share):
        why = "" if quiet else f": {wrong[0].message}"
        raise invalid(f"The answer does not fit what was asked{why}.", at if quiet else wrong[0].pointer)


def _clarification_answers(data: dict[str, Any], value: Any, quiet: bool) -> dict[str, Any]:
    """int-11 (readings, Clarification answers): a list or an object comes in, an object is kept."""
    given: Any = value.get("answers") if is_object(value) else None
    if is_array(given):
        listed = [each for each in given if is_object(each) and isinstance(each.get("id"), str) and "answer" in each]
        if len(listed) != len(given):
            raise invalid("Each answer in a list has an id and an answer.", f"{_RESUME_VALUE}/answers")
        if len({each["id"] for each in listed}) != len(listed):
            raise invalid("A question is answered once.", f"{_RESUME_VALUE}/answers")
        given = {each["id"]: each["answer"] for each in listed}
    if not is_object(given):
        raise invalid("A clarification is answered with answers: an object by question id.", f"{_RESUME_VALUE}/answers")
    questions = {each["id"]: each.get("schema") for each in data["questions"]}
    for name in given:
        if name not in questions:
            raise invalid("There is an answer to a question that was not asked.", f"{_RESUME_VALUE}/answers")
    for name, wanted in questions.items():
        if given.get(name) is None and not (name in given and wanted is not None):
            raise invalid(f"The question {name} has no answer.", f"{_RESUME_VALUE}/answers", questionId=name)
        if wanted is not None:
            _check_schema(
                wanted, given[name], f"{_RESUME_VALUE}/answers/{printable_token(name)}", quiet, len(questions)
            )
    rest = {name: each for name, each in value.items() if name != "answers"}
    return {**rest, "answers": {name: given[name] for name in questions}}


def _check_correlation(correlation: dict[str, Any], value: Any) -> None:
    """int-12 (interrupt-profiles, external-event): every member of the correlation is in the event, and equal."""
    inner = value.get("eventPayload") if is_object(value) else None
    if any(is_object(each) and _matches_correlation(each, correlation) for each in (value, inner)):
        return
    text = "The event is not the one that is waited for: its correlation does not match."
    raise ClientFault("validation_error", text, {"pointer": _RESUME_VALUE}, status=422)


def _matches_correlation(event: dict[str, Any], correlation: dict[str, Any]) -> bool:
    return all(name in event and json_equal(event[name], wanted) for name, wanted in correlation.items())
