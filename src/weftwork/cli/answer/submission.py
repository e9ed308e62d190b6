"""Sending an answer, and telling what became of it."""

import uuid
from typing import Any, Final

from weftwork.cli.answer.target import Target
from weftwork.cli.client.errors import Refused, Unreachable
from weftwork.cli.client.http_client import Client, segment
from weftwork.cli.client.interrupts import open_questions
from weftwork.cli.console.text import say, shown
from weftwork.cli.render.interrupt_text import VOTERS, progress, takes_votes, word
from weftwork.protocol.json.values import is_array, is_object

PROMPT: Final = 3.0
"""Seconds for the snapshot that says how the votes stand now."""
DELEGATE: Final = "approvals:delegate"
_LATE: Final = ("interrupt_already_resolved", "interrupt_gone", "interrupt_expired", "interrupt_not_found")


def send(client: Client, target: Target, value: Any) -> dict[str, Any]:
    """Give the answer to this very question: if it has become another one, the host refuses.

    The Idempotency-Key is of this call alone: the same words of another person are another answer.
    """
    path = f"/v1/{target.path}"
    try:
        answer = client.post(
            path, {"resumeValue": value}, idempotency_key=str(uuid.uuid4()), interruptId=target.interrupt_id
        )
    except KeyboardInterrupt:
        say("the host had not answered yet, and may have taken the answer.", err=True)
        raise
    except Refused as refused:
        if refused.code in _LATE:
            say(f"nothing was answered; `weftwork runs show {word(target.run_id)}` shows how the run stands.", err=True)
        elif refused.status == 403:
            refused.advice = _who_may(target, refused)
        raise
    if not is_object(answer) or not isinstance(answer.get("status"), str):
        raise Unreachable(f"{client.url} does not say how the run stands now; see that --url names an OpenWOP v1 host.")
    return answer


def outcome(client: Client, target: Target, value: Any, answer: dict[str, Any]) -> str:
    """A line that says what became of the answer."""
    asks = is_object(value) and value.get("action") == "ask"
    if target.question.get("kind") == "approval" and (asks or takes_votes(target.question)):
        still = _still_open(client, target)
        if still is not None:
            done = "asked" if asks else "recorded"
            votes = progress(still)
            return f"{target.word} {done}{f', {votes} approvals' if votes else ''}; it stays open"
    return f"{target.word} answered; the run is {shown(answer['status'], 40)}"


def _who_may(target: Target, refused: Refused) -> str:
    """Whose answer would count, at a gate that names its approvers; nothing if the key may not answer at all."""
    data = target.question.get("data")
    named = data.get("approversList") if is_object(data) else None
    if not is_array(named) or not named or refused.details.get("scopeRequired") not in (None, DELEGATE):
        return ""
    listed = ", ".join(shown(each, 60) for each in named[:VOTERS]) + (" and others" if len(named) > VOTERS else "")
    return (
        f"its approvers are {listed}: answer with a key that has such a name as its label, with --as NAME and a key "
        f"that has the scope {DELEGATE}, or by a link that is made for one of them: --link --for NAME"
    )


def _still_open(client: Client, target: Target) -> dict[str, Any] | None:
    run = client.peek(f"/v1/runs/{segment(target.run_id)}", PROMPT)
    rows = open_questions(run) if is_object(run) else []
    same = ("nodeId", "interruptId")
    wanted = {**target.question, "nodeId": target.node_id}
    return next((each for each in rows if all(each.get(name) == wanted.get(name) for name in same)), None)
