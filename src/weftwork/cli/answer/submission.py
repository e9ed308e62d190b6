"""Sends an answer and reports the result, or creates a link with which a person without a key can answer."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

import click

from weftwork.cli.answer.target import AnswerTarget
from weftwork.cli.client.errors import NOT_OFFERED, HostUnreachable, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.listing import open_interrupts
from weftwork.cli.client.surfaces import AgentForm, press_button
from weftwork.cli.console.documents import as_list, as_object
from weftwork.cli.console.text import clean, say, say_json
from weftwork.cli.console.units import format_time
from weftwork.cli.render.interrupt_text import MAX_VOTERS, due_text, quote_id, takes_votes, vote_progress
from weftwork.protocol.json.values import is_object
from weftwork.protocol.scopes import DELEGATE
from weftwork.protocol.wire.v1.paths import path_for

_TOO_LATE_CODES: Final = ("interrupt_already_resolved", "interrupt_gone", "interrupt_expired", "interrupt_not_found")
"""Errors after which the interrupt can no longer be answered. Other hosts send interrupt_gone after a cancel."""
UNTRUSTED_CODE: Final = "untrusted_content_blocks_approval"
"""The host refuses to decide an approval with a form of untrusted content."""


def submit_answer(client: Client, target: AnswerTarget, value: Any) -> dict[str, Any]:
    """Answer exactly this interrupt. The host refuses if the node has requested another interrupt since.

    Every call sends a new Idempotency-Key: the same value from another person is a separate answer.
    """
    path = path_for("resolveInterruptByRun", runId=target.run_id, nodeId=target.node_id)
    body, key = {"resumeValue": value}, str(uuid.uuid4())
    return _submit(
        client, target, lambda: client.post(path, body, idempotency_key=key, interruptId=target.interrupt_id)
    )


def submit_form(
    client: Client, target: AnswerTarget, form: AgentForm, button_id: str, values: dict[str, Any]
) -> dict[str, Any]:
    """Press a button of the form of this interrupt. The form belongs to one interrupt only."""
    key = str(uuid.uuid4())
    return _submit(client, target, lambda: press_button(client, form, button_id, values, key))


def _submit(client: Client, target: AnswerTarget, send: Callable[[], Any]) -> dict[str, Any]:
    try:
        answer = send()
    except KeyboardInterrupt:
        say("interrupted before the host replied; the answer may have been recorded.", err=True)
        raise
    except RequestRefused as refused:
        if refused.code in _TOO_LATE_CODES:
            say(
                f"the answer was not recorded; `weftwork runs show {quote_id(target.run_id)}` shows the run.",
                err=True,
            )
        elif refused.code == UNTRUSTED_CODE:
            refused.advice = "pass --approve, --reject or --action without --set"
        elif refused.status == 403:
            refused.advice = _approvers_hint(target, refused)
        raise
    client.require_text(answer, "status", "the run's status")
    return answer


def outcome_text(client: Client, target: AnswerTarget, value: Any, answer: dict[str, Any]) -> str:
    """A line with the effect of the answer: the run's status, or that the approval needs more votes."""
    is_question = is_object(value) and value.get("action") == "ask"
    if target.interrupt.get("kind") == "approval" and (is_question or takes_votes(target.interrupt)):
        open_interrupt = _find_still_open(client, target)
        if open_interrupt is not None:
            what = "question recorded" if is_question else "vote recorded"
            votes = vote_progress(open_interrupt)
            return f"{target.quoted_name}: {what}{f', {votes} approvals' if votes else ''}; the approval is still open"
    return f"{target.quoted_name}: answer recorded; the run is {clean(answer['status'], 40)}"


def _approvers_hint(target: AnswerTarget, refused: RequestRefused) -> str:
    """How to answer for one of the listed approvers. Empty if there is no list, or if the key lacks another scope."""
    approvers = as_list(as_object(target.interrupt.get("data")).get("approversList"))
    if not approvers or refused.details.get("scopeRequired") not in (None, DELEGATE):
        return ""
    listed = ", ".join(clean(each, 60) for each in approvers[:MAX_VOTERS]) + (
        " and others" if len(approvers) > MAX_VOTERS else ""
    )
    return (
        f"the approvers are {listed}. Use a key whose label is one of these names, or --as NAME with a key that has "
        f"the scope {DELEGATE}, or create a link for an approver with --link --for NAME"
    )


def _find_still_open(client: Client, target: AnswerTarget) -> dict[str, Any] | None:
    run = client.try_get(path_for("getRun", runId=target.run_id))
    rows = open_interrupts(as_object(run))
    members = ("nodeId", "interruptId")
    answered = {**target.interrupt, "nodeId": target.node_id}
    return next((each for each in rows if all(each.get(name) == answered.get(name) for name in members)), None)


def print_link(
    client: Client, target: AnswerTarget, for_whom: str | None, is_inspect: bool, expires_ms: int | None, as_json: bool
) -> None:
    """Create a link and print it. Standard output has only the URL, or the host's document with `as_json`."""
    seconds = None if expires_ms is None else expires_ms // 1000
    request = {"for": for_whom, "intent": "inspect" if is_inspect else None, "expiresInSeconds": seconds}
    link = _create_link(client, target, {name: value for name, value in request.items() if value is not None})
    if as_json:
        say_json(link)
        return
    url, path = link.get("url"), client.url + str(link.get("path"))
    if not (isinstance(url, str) and _is_link(url)):
        # The host does not know its public URL: use the address at which it was reached.
        if not str(link.get("path")).startswith("/") or not _is_link(path):
            raise HostUnreachable(f"{client.url} sent a response without a link; check that --url is a weftwork host.")
        url = path
    say(url)
    permission = "read the question but not answer" if link.get("intent") == "inspect" else "answer"
    until = format_time(link.get("expiresAt"))
    remaining = due_text({"dueAt": link.get("expiresAt")}, datetime.now(UTC))
    expiry = f" until {until} UTC ({remaining})" if until else ""
    holder = f"the link is for {clean(for_whom, 60)}; anyone who has it" if for_whom else "anyone who has the link"
    say(f"{holder} can {permission}{expiry}.", err=True)


def _create_link(client: Client, target: AnswerTarget, request: dict[str, Any]) -> dict[str, Any]:
    try:
        path = path_for("createInterruptLink", runId=target.run_id, nodeId=target.node_id)
        link = client.post(path, request)
    except RequestRefused as refused:
        if refused.status in NOT_OFFERED and not refused.code.startswith("interrupt_"):
            raise click.ClickException("this host does not support --link, which is a weftwork extension.") from None
        raise
    if not is_object(link):
        raise HostUnreachable(f"{client.url} sent a response without a link; check that --url is a weftwork host.")
    if target.interrupt_id is not None and link.get("interruptId", target.interrupt_id) != target.interrupt_id:
        # The link is not printed: it belongs to a newer interrupt than the one that was selected.
        raise RequestRefused(
            409, "interrupt_already_resolved", "the interrupt was resolved, and the node has requested another one"
        )
    return link


def _is_link(text: str) -> bool:
    if not text.isascii() or not text.isprintable() or " " in text:
        return False
    try:
        return urlsplit(text).scheme in ("http", "https")
    except ValueError:
        return False
