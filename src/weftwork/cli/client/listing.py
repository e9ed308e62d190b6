"""Listings of a host, read page by page, and the open interrupts of a run. Responses are untrusted and validated."""

from collections.abc import Iterator
from typing import Any, Final

import click

from weftwork.cli.client.errors import not_offered
from weftwork.cli.client.http_client import Client
from weftwork.cli.console.documents import as_object, objects
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.wire.v1.paths import method_and_path, path_for

PAGE_SIZE: Final = 200
"""Maximum number of rows per page."""


def list_rows(
    client: Client, operation: str, member: str, limit: int | None, refusal: str, noun: str = "", **query: Any
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Up to `limit` rows, each with the page that has it; all of them if `limit` is None.

    Raises ClickException with the text `refusal` if the host does not support the listing.
    """
    count, cursor = 0, None
    while True:
        remaining = PAGE_SIZE if limit is None else limit - count
        with not_offered(refusal):
            page = client.get(path_for(operation), **query, cursor=cursor, limit=min(PAGE_SIZE, remaining))
        rows = page.get(member) if is_object(page) else None
        if not is_array(rows):
            raise click.ClickException(
                f"{client.url} sent a response to {method_and_path(operation)} without a list of {noun or member}; "
                "check --url."
            )
        yield from ((each, page) for each in rows[:remaining])
        count += len(rows)
        previous_cursor, cursor = cursor, page.get("nextCursor")
        # A host that repeats a cursor would make this loop endless.
        if not cursor or cursor == previous_cursor or (limit is not None and count >= limit):
            return


def list_assets(client: Client, run_id: str | None, limit: int | None) -> Iterator[tuple[dict[str, Any], Any]]:
    """Each asset, with the `usage` totals of its page."""
    refusal = f"this host does not list assets: it does not support {method_and_path('listAssets')}."
    rows = list_rows(client, "listAssets", "assets", limit, refusal, runId=run_id)
    return ((as_object(asset), page.get("usage")) for asset, page in rows)


def list_open_interrupts(client: Client, limit: int | None, **filters: Any) -> Iterator[dict[str, Any]]:
    """Up to `limit` open interrupts that match the filters, oldest first; all of them if `limit` is None."""
    refusal = "this host does not list open interrupts, which is a weftwork extension"
    advice = "Try `weftwork runs ls --status waiting-approval`."
    rows = list_rows(client, "listInterrupts", "interrupts", limit, f"{refusal}. {advice}", **filters)
    return (as_object(row) for row, _ in rows)


def open_interrupts(run: dict[str, Any]) -> list[dict[str, Any]]:
    """The open interrupts of a snapshot: of its `interrupts`, or of its single `interrupt` on some hosts."""
    rows = objects(run.get("interrupts"))
    if not rows and is_object(run.get("interrupt")):
        rows = [run["interrupt"]]
    current_node = run.get("currentNodeId")
    interrupts = [each if each.get("nodeId") else {**each, "nodeId": current_node} for each in rows]
    return [each for each in interrupts if isinstance(each["nodeId"], str) and each.get("status", "open") == "open"]
