"""Lifting: a clarification that a model asks for becomes a question to people. Source: RFC 0021 (clarification)."""

from typing import Any

from weftwork.protocol.caller_schema import check_caller_schema
from weftwork.protocol.envelope.outcome import Accepted
from weftwork.protocol.interrupt import Interrupt


def lifted(accepted: Accepted) -> Interrupt:
    """env-22 (RFC 0021, clarification): the questions in their order, with their ids, in the closed form of an
    interrupt; their context and the model's reasoning stay in the record.

    A schema that is outside the dialect for answers is left out: that question takes free text.
    """
    payload: dict[str, Any] = accepted.payload
    data: dict[str, Any] = {"questions": [_question(each) for each in payload["questions"]]}
    if "contextType" in payload:
        data["contextType"] = payload["contextType"]
    return Interrupt("clarification", f"envelope:{accepted.correlation_id}", data)


def _question(given: dict[str, Any]) -> dict[str, Any]:
    question = {"id": given["id"], "question": given["question"]}
    if "schema" in given and not check_caller_schema(given["schema"], ""):
        question["schema"] = given["schema"]
    return question
