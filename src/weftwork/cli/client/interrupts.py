"""Open interrupts: of a tenant, page by page, and of one run, from its snapshot."""

from collections.abc import Iterator
from typing import Any, Final

import click

from weftwork.cli.client.errors import NOT_OFFERED, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.wire.v1.paths import method_and_path, path_for

PAGE_SIZE: Final = 200
"""Most questions that are asked for at once."""


def list_open_interrupts(client: Client, most: int | None, **wanted: Any) -> Iterator[dict[str, Any]]:
    """Up to so many open questions, oldest first, of those that are wanted; None is all of them."""
    cursor: Any = None
    count = 0
    while True:
        left = PAGE_SIZE if most is None else most - count
        try:
            page = client.get(path_for("listInterrupts"), **wanted, cursor=cursor, limit=min(PAGE_SIZE, left))
        except RequestRefused as refused:
            if refused.status in NOT_OFFERED:
                text = "this host has no inbox: only a weftwork host lists what its runs ask"
                raise click.ClickException(
                    f"{text}. `weftwork runs ls --status waiting-approval` may list runs that wait."
                ) from None
            raise
        found = page.get("interrupts") if is_object(page) else None
        if not is_array(found):
            asked = method_and_path("listInterrupts")
            raise click.ClickException(f"the host's answer to {asked} is not a list of questions.")
        yield from (each if is_object(each) else {} for each in found[:left])
        count += len(found)
        again, cursor = cursor, page.get("nextCursor")
        # A host that gives the same page again would never come to an end.
        if not cursor or cursor == again or (most is not None and count >= most):
            return


def open_interrupts(run: dict[str, Any]) -> list[dict[str, Any]]:
    """What a snapshot says is asked; a host may say so of one question or of several."""
    listed = run.get("interrupts")
    rows = [each for each in listed if is_object(each)] if is_array(listed) else []
    if not rows and is_object(run.get("interrupt")):
        rows = [run["interrupt"]]
    now = run.get("currentNodeId")
    named = [each if each.get("nodeId") else {**each, "nodeId": now} for each in rows]
    return [each for each in named if isinstance(each["nodeId"], str) and each.get("status", "open") == "open"]
