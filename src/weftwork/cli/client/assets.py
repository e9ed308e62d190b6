"""Uploading an asset to a host. Nothing in its answer is taken for granted."""

from typing import Any

from weftwork.cli.client.errors import HostUnreachable, RequestRefused, not_offered
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.upload import Upload
from weftwork.cli.console.progress import transfer_progress
from weftwork.cli.console.text import clean, say
from weftwork.cli.console.units import format_size
from weftwork.protocol.json.values import is_object
from weftwork.protocol.media.media_types import UNKNOWN_TYPE
from weftwork.protocol.wire.v1.paths import method_and_path, path_for


def upload_asset(client: Client, upload: Upload, name: str | None = None, days: int | None = None) -> dict[str, Any]:
    """What the host says of the asset that it has made. Raises RequestRefused, HostUnreachable or ClickException."""
    upload.on_progress, clear = transfer_progress(f"sent of {format_size(upload.size)}:")
    try:
        with not_offered(f"this host takes no files; it has no {method_and_path('uploadAsset')}."):
            answer = client.upload(path_for("uploadAsset"), upload, name=name or upload.name or None, days=days)
    except RequestRefused as refused:
        limit = refused.details.get("limit")
        if refused.status == 413 and isinstance(limit, int):
            refused.advice = (
                f"{clean(upload.path, 200)} has {format_size(upload.size)}, and the host takes {format_size(limit)}"
            )
        raise
    finally:
        clear()
    if not is_object(answer) or not isinstance(answer.get("mediaRef"), str):
        raise HostUnreachable(
            f"{client.url} does not say what it made of the file; see that --url names a weftwork host."
        )
    if answer.get("sha256") != upload.sha256.hex():
        raise HostUnreachable(f"{client.url} has other bytes than those that were sent; try again.")
    if answer.get("mimeType") == UNKNOWN_TYPE and upload.media_type != UNKNOWN_TYPE:
        what = f"{clean(upload.path, 200)} does not look like {clean(upload.media_type, 80)}"
        say(f"warning: {what}, and is kept as {UNKNOWN_TYPE}.", err=True)
    return answer
