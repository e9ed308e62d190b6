"""Assets as a host lists them: page by page, and as rows for people. Nothing in an answer is taken for granted."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import click

from weftwork.cli.client import Client, Refused
from weftwork.cli.elapsed import clock, instant, short_clock, spell
from weftwork.cli.progress import size
from weftwork.cli.upload import ASSETS
from weftwork.protocol.json_value import is_array, is_object

PAGE: Final = 200
SHORT: Final = 16
"""Digits of a digest that a terminal is shown: enough to tell assets apart."""
HEAD: Final = ("asset", "type", "bytes", "age", "runs", "held until")
_ABSENT: Final = (404, 405, 501)


def listed(client: Client, run_id: str | None, most: int | None) -> Iterator[tuple[Any, Any]]:
    """Each asset, and what the host says of all of them."""
    query: dict[str, Any] = {"runId": run_id}
    count = 0
    while True:
        left = PAGE if most is None else min(PAGE, most - count)
        try:
            page = client.get(ASSETS, **query, limit=left)
        except Refused as refused:
            if refused.status in _ABSENT:
                raise click.ClickException(f"this host does not list assets; it has no GET {ASSETS}.") from None
            raise
        found = page.get("assets") if is_object(page) else None
        if not is_array(found):
            raise click.ClickException(f"the host's answer to GET {ASSETS} is not a list of assets.")
        for asset in found[:left]:
            yield (asset if is_object(asset) else {}), page.get("usage")
        count += len(found)
        cursor = page.get("nextCursor")
        # A host that gives the same page again would never come to an end.
        if not cursor or not found or cursor == query.get("cursor") or (most is not None and count >= most):
            return
        query["cursor"] = cursor


def row(asset: dict[str, Any]) -> list[str]:
    """As in HEAD. What is piped on has whole names and times."""
    at_terminal = sys.stdout.isatty()
    ref, count = str(asset.get("mediaRef", "?")), asset.get("bytes")
    made = instant(asset.get("createdAt"))
    return [
        ref.rpartition(":")[2][:SHORT] if at_terminal else ref,
        str(asset.get("mimeType", "?")),
        size(count) if at_terminal and isinstance(count, int) else str(count),
        spell((datetime.now(UTC) - made).total_seconds() * 1000) if made is not None else "",
        str(asset.get("runs", "?")),
        (short_clock if at_terminal else clock)(asset.get("heldUntil")),
    ]


def used(usage: Any) -> str | None:
    """How much room the tenant takes up."""
    if not is_object(usage) or not isinstance(usage.get("bytes"), int):
        return None
    quota = usage.get("quota")
    of = f" of {size(quota)}" if isinstance(quota, int) else ""
    count = usage.get("assets", "?")
    return f"{count} asset{'' if count == 1 else 's'} in all, {size(usage['bytes'])}{of}"
