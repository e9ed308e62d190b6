"""Sends an answer and prints the result, or creates a link with which a person without a key can answer."""

import uuid
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

import click

from weftwork.cli.answer.target import AnswerTarget
from weftwork.cli.client.errors import NOT_OFFERED, HostUnreachable, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.listing import open_interrupts
from weftwork.cli.console.documents import as_list, as_object
from weftwork.cli.console.text import clean, say, say_json
from weftwork.cli.console.units import format_time
from weftwork.cli.render.interrupt_text import MAX_VOTERS, due_text, quote_id, takes_votes, vote_progress
from weftwork.protocol.json.values import is_object
from weftwork.protocol.wire.v1.paths import path_for

DELEGATE_SCOPE: Final = "approvals:delegate"
_TOO_LATE_CODES: Final = ("interrupt_already_resolved", "interrupt_gone", "interrupt_expired", "interrupt_not_found")


def submit_answer(client: Client, target: AnswerTarget, value: Any) -> dict[str, Any]:
    """Give the answer to this very question: if it has become another one, the host refuses.

    The Idempotency-Key is of this call alone: the same words of another person are another answer.
    """
    path = path_for("resolveInterruptByRun", runId=target.run_id, nodeId=target.node_id)
    try:
        answer = client.post(
            path, {"resumeValue": value}, idempotency_key=str(uuid.uuid4()), interruptId=target.interrupt_id
        )
    except KeyboardInterrupt:
        say("the host had not answered yet, and may have taken the answer.", err=True)
        raise
    except RequestRefused as refused:
        if refused.code in _TOO_LATE_CODES:
            say(
                f"nothing was answered; `weftwork runs show {quote_id(target.run_id)}` shows how the run stands.",
                err=True,
            )
        elif refused.status == 403:
            refused.advice = _approvers_hint(target, refused)
        raise
    client.require_text(answer, "status", "how the run stands now")
    return answer


def outcome_text(client: Client, target: AnswerTarget, value: Any, answer: dict[str, Any]) -> str:
    """A line that says what became of the answer."""
    asks = is_object(value) and value.get("action") == "ask"
    if target.interrupt.get("kind") == "approval" and (asks or takes_votes(target.interrupt)):
        still = _find_still_open(client, target)
        if still is not None:
            done = "asked" if asks else "recorded"
            votes = vote_progress(still)
            return f"{target.quoted_name} {done}{f', {votes} approvals' if votes else ''}; it stays open"
    return f"{target.quoted_name} answered; the run is {clean(answer['status'], 40)}"


def _approvers_hint(target: AnswerTarget, refused: RequestRefused) -> str:
    """Whose answer would count, at a gate that names its approvers; nothing if the key may not answer at all."""
    named = as_list(as_object(target.interrupt.get("data")).get("approversList"))
    if not named or refused.details.get("scopeRequired") not in (None, DELEGATE_SCOPE):
        return ""
    listed = ", ".join(clean(each, 60) for each in named[:MAX_VOTERS]) + (
        " and others" if len(named) > MAX_VOTERS else ""
    )
    return (
        f"its approvers are {listed}: answer with a key that has such a name as its label, with --as NAME and a key "
        f"that has the scope {DELEGATE_SCOPE}, or by a link that is made for one of them: --link --for NAME"
    )


def _find_still_open(client: Client, target: AnswerTarget) -> dict[str, Any] | None:
    run = client.try_get(path_for("getRun", runId=target.run_id))
    rows = open_interrupts(as_object(run))
    same = ("nodeId", "interruptId")
    wanted = {**target.interrupt, "nodeId": target.node_id}
    return next((each for each in rows if all(each.get(name) == wanted.get(name) for name in same)), None)


def print_link(
    client: Client, target: AnswerTarget, for_whom: str | None, is_inspect: bool, expires_ms: int | None, as_json: bool
) -> None:
    """Only the link goes to standard output."""
    seconds = None if expires_ms is None else expires_ms // 1000
    wanted = {"for": for_whom, "intent": "inspect" if is_inspect else None, "expiresInSeconds": seconds}
    made = _create_link(client, target, {name: value for name, value in wanted.items() if value is not None})
    if as_json:
        say_json(made)
        return
    url, path = made.get("url"), client.url + str(made.get("path"))
    if not (isinstance(url, str) and _is_link(url)):
        # The host does not say it: by the address that it was reached at.
        if not str(made.get("path")).startswith("/") or not _is_link(path):
            raise HostUnreachable(f"{client.url} does not say which link it made.")
        url = path
    say(url)
    may = "see the question" if made.get("intent") == "inspect" else "answer"
    until = format_time(made.get("expiresAt"))
    left = due_text({"dueAt": made.get("expiresAt")}, datetime.now(UTC))
    when = f" until {until} UTC, {left}" if until else ""
    whom = f"{clean(for_whom, 60)}, and whoever else has it," if for_whom else "whoever has it"
    say(f"{whom} can {may}{when}.", err=True)


def _create_link(client: Client, target: AnswerTarget, wanted: dict[str, Any]) -> dict[str, Any]:
    try:
        path = path_for("createInterruptLink", runId=target.run_id, nodeId=target.node_id)
        made = client.post(path, wanted)
    except RequestRefused as refused:
        if refused.status in NOT_OFFERED and not refused.code.startswith("interrupt_"):
            raise click.ClickException("this host makes no links: only a weftwork host does.") from None
        raise
    if not is_object(made):
        raise HostUnreachable(f"{client.url} does not say which link it made.")
    if target.interrupt_id is not None and made.get("interruptId", target.interrupt_id) != target.interrupt_id:
        # The link is not printed: it would open another question than the one that was asked for.
        raise RequestRefused(409, "interrupt_already_resolved", "meanwhile the node asks something else")
    return made


def _is_link(text: str) -> bool:
    if not text.isascii() or not text.isprintable() or " " in text:
        return False
    try:
        return urlsplit(text).scheme in ("http", "https")
    except ValueError:
        return False
