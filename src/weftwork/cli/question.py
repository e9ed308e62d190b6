"""What a run asks and how to answer it, as a line to paste into a shell."""

import json
import shlex
from typing import Any

from weftwork.cli.plain import shown
from weftwork.protocol.json_value import is_array, is_object


def asked(question: dict[str, Any]) -> str:
    """What is asked, on one line."""
    kind = question.get("kind")
    data = question.get("data")
    known = data if is_object(data) else {}
    told = [
        text for name in ("title", "description", "prompt", "eventType") if isinstance(text := known.get(name), str)
    ]
    told += [text for each in _questions(known) if isinstance(text := each.get("question"), str)]
    if not told and data not in (None, {}):
        told = [json.dumps(data, ensure_ascii=False)]
    said = ": ".join([str(kind) if isinstance(kind, str) else "question", "; ".join(told)] if told else [str(kind)])
    return shown(said, 300)


def word(text: str) -> str:
    """An id of the host as one word of a command that somebody may paste into a shell."""
    return shlex.quote(shown(text))


def answer_lines(url: str, run_id: str, node_id: str, question: dict[str, Any]) -> list[str]:
    """A command that answers, in pieces for lines of their own; the longest, last, has the most room.

    Nothing of the host can leave its quotes, and the key is not in it.
    """
    from weftwork.cli.client import segment

    where = f"{url}/v1/runs/{segment(run_id)}/interrupts/{segment(node_id)}"
    # Spelled in ASCII, so that nothing in it can move a cursor.
    body = json.dumps({"resumeValue": _example(question)})
    key = '-H "Authorization: Bearer $WEFTWORK_KEY"'
    kind = "-H 'Content-Type: application/json'"
    return [f"curl -d {shlex.quote(body)}", key, kind, shlex.quote(where)]


def _example(question: dict[str, Any]) -> Any:
    """A value of the shape that the kind of question wants."""
    data = question.get("data")
    known = data if is_object(data) else {}
    if question.get("kind") == "approval":
        actions = known.get("actions")
        first = next((each for each in actions if isinstance(each, str)), "accept") if is_array(actions) else "accept"
        return {"action": first}
    if question.get("kind") == "clarification":
        names = [each["id"] for each in _questions(known) if isinstance(each.get("id"), str)]
        return {"answers": dict.fromkeys(names, "...")}
    if question.get("kind") == "external-event" and is_object(known.get("correlation")):
        return known["correlation"]
    return "..."


def _questions(known: dict[str, Any]) -> list[dict[str, Any]]:
    found = known.get("questions")
    return [each for each in found if is_object(each)] if is_array(found) else []
