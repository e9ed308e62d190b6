"""Uploading an asset to a host, and listing the assets that it has. Nothing in an answer is taken for granted."""

from collections.abc import Iterator
from typing import Any, Final

import click

from weftwork.cli.client.errors import NOT_OFFERED, HostUnreachable, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.upload import Upload
from weftwork.cli.console.progress import transfer_progress
from weftwork.cli.console.text import clean, say
from weftwork.cli.console.units import format_size
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.media.media_types import UNKNOWN_TYPE
from weftwork.protocol.wire.v1.paths import method_and_path, path_for


def upload_asset(client: "Client", upload: Upload, name: str | None = None, days: int | None = None) -> dict[str, Any]:
    """What the host says of the asset that it has made. Raises RequestRefused, HostUnreachable or ClickException."""
    upload.on_progress, clear = transfer_progress(f"sent of {format_size(upload.size)}:")
    try:
        answer = client.upload(path_for("uploadAsset"), upload, name=name or upload.name or None, days=days)
    except RequestRefused as refused:
        if refused.status in NOT_OFFERED:
            text = f"this host takes no files; it has no {method_and_path('uploadAsset')}."
            raise click.ClickException(text) from None
        limit = refused.details.get("limit")
        if refused.status == 413 and isinstance(limit, int):
            refused.advice = (
                f"{clean(upload.path, 200)} has {format_size(upload.size)}, and the host takes {format_size(limit)}"
            )
        raise
    finally:
        clear()
    ref = answer.get("mediaRef") if is_object(answer) else None
    if not isinstance(ref, str):
        raise HostUnreachable(
            f"{client.url} does not say what it made of the file; see that --url names a weftwork host."
        )
    if answer.get("sha256") != upload.sha256.hex():
        raise HostUnreachable(f"{client.url} has other bytes than those that were sent; try again.")
    if answer.get("mimeType") == UNKNOWN_TYPE and upload.media_type != UNKNOWN_TYPE:
        what = f"{clean(upload.path, 200)} does not look like {clean(upload.media_type, 80)}"
        say(f"warning: {what}, and is kept as {UNKNOWN_TYPE}.", err=True)
    return answer


PAGE_SIZE: Final = 200


def list_assets(client: Client, run_id: str | None, most: int | None) -> Iterator[tuple[Any, Any]]:
    """Each asset, and what the host says of all of them."""
    query: dict[str, Any] = {"runId": run_id}
    count = 0
    while True:
        left = PAGE_SIZE if most is None else min(PAGE_SIZE, most - count)
        try:
            page = client.get(path_for("listAssets"), **query, limit=left)
        except RequestRefused as refused:
            if refused.status in NOT_OFFERED:
                text = f"this host does not list assets; it has no {method_and_path('listAssets')}."
                raise click.ClickException(text) from None
            raise
        found = page.get("assets") if is_object(page) else None
        if not is_array(found):
            asked = method_and_path("listAssets")
            raise click.ClickException(f"the host's answer to {asked} is not a list of assets.")
        for asset in found[:left]:
            yield (asset if is_object(asset) else {}), page.get("usage")
        count += len(found)
        cursor = page.get("nextCursor")
        # A host that gives the same page again would never come to an end.
        if not cursor or not found or cursor == query.get("cursor") or (most is not None and count >= most):
            return
        query["cursor"] = cursor
