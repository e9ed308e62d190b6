"""Answers to interrupts other than approvals: what each kind of interrupt takes, and the one form in which it is kept.

Answers to approvals are in `approvals`. Sources: OpenWOP interrupt, RFC 0094 E.
"""

from typing import Any, Final

from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.values import is_array, is_object, json_equal
from weftwork.protocol.run.interrupts import InterruptState

MAX_STEPS: Final = 200_000
"""Of checking one answer against its schemas: whoever has a link may send one."""
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
    for name, schema in questions.items():
        if given.get(name) is None and not (name in given and schema is not None):
            raise invalid(f"The question {name} has no answer.", f"{_RESUME_VALUE}/answers", questionId=name)
        if schema is not None:
            _check_schema(
                schema, given[name], f"{_RESUME_VALUE}/answers/{printable_token(name)}", quiet, len(questions)
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
