"""Listings of a host, read page by page, and the open interrupts of a run. Nothing in an answer is taken as given."""

from collections.abc import Iterator
from typing import Any, Final

import click

from weftwork.cli.client.errors import not_offered
from weftwork.cli.client.http_client import Client
from weftwork.cli.console.documents import as_object, objects
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.wire.v1.paths import method_and_path, path_for

PAGE_SIZE: Final = 200
"""Most rows that are asked for at once."""


def list_rows(
    client: Client, operation: str, member: str, most: int | None, refusal: str, noun: str = "", **query: Any
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Up to `most` rows, each with the page that has it; None is all of them.

    `refusal` is what to say if the host does not offer the listing.
    """
    count, cursor = 0, None
    while True:
        left = PAGE_SIZE if most is None else most - count
        with not_offered(refusal):
            page = client.get(path_for(operation), **query, cursor=cursor, limit=min(PAGE_SIZE, left))
        found = page.get(member) if is_object(page) else None
        if not is_array(found):
            raise click.ClickException(
                f"the host's answer to {method_and_path(operation)} is not a list of {noun or member}."
            )
        yield from ((each, page) for each in found[:left])
        count += len(found)
        again, cursor = cursor, page.get("nextCursor")
        # A host that gives the same page again would never come to an end.
        if not cursor or cursor == again or (most is not None and count >= most):
            return


def list_assets(client: Client, run_id: str | None, most: int | None) -> Iterator[tuple[dict[str, Any], Any]]:
    """Each asset, and what the host says of all of them."""
    refusal = f"this host does not list assets; it has no {method_and_path('listAssets')}."
    rows = list_rows(client, "listAssets", "assets", most, refusal, runId=run_id)
    return ((as_object(asset), page.get("usage")) for asset, page in rows)


def list_open_interrupts(client: Client, most: int | None, **wanted: Any) -> Iterator[dict[str, Any]]:
    """Up to so many open questions, oldest first, of those that are wanted; None is all of them."""
    refusal = "this host has no inbox: only a weftwork host lists what its runs ask"
    advice = "`weftwork runs ls --status waiting-approval` may list runs that wait."
    rows = list_rows(client, "listInterrupts", "interrupts", most, f"{refusal}. {advice}", "questions", **wanted)
    return (as_object(row) for row, _ in rows)


def open_interrupts(run: dict[str, Any]) -> list[dict[str, Any]]:
    """What a snapshot says is asked; a host may say so of one question or of several."""
    rows = objects(run.get("interrupts"))
    if not rows and is_object(run.get("interrupt")):
        rows = [run["interrupt"]]
    now = run.get("currentNodeId")
    named = [each if each.get("nodeId") else {**each, "nodeId": now} for each in rows]
    return [each for each in named if isinstance(each["nodeId"], str) and each.get("status", "open") == "open"]
