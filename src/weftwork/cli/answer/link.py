"""A signed link to one question, for somebody without a key."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import click

from weftwork.cli.answer.target import AnswerTarget
from weftwork.cli.client.errors import NOT_OFFERED, HostUnreachable, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.console.text import clean, say, say_json
from weftwork.cli.console.units import format_time
from weftwork.cli.render.interrupt_text import due_text
from weftwork.protocol.json.values import is_object
from weftwork.protocol.wire.v1.paths import path_for


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
    say(_link_url(client, made))
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
        # Not handed out: whoever gets it expects the question that was meant.
        raise RequestRefused(409, "interrupt_already_resolved", "meanwhile the node asks something else")
    return made


def _link_url(client: Client, made: dict[str, Any]) -> str:
    """The link as the host says it, else by the address that it was reached at."""
    url, path = made.get("url"), made.get("path")
    if isinstance(url, str) and _is_link(url):
        return url
    if isinstance(path, str) and path.startswith("/") and _is_link(client.url + path):
        return client.url + path
    raise HostUnreachable(f"{client.url} does not say which link it made.")


def _is_link(text: str) -> bool:
    if not text.isascii() or not text.isprintable() or " " in text:
        return False
    try:
        return urlsplit(text).scheme in ("http", "https")
    except ValueError:
        return False
