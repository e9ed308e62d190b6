"""`weftwork runs import`: copy a run of another host, from its debug bundle."""

from secrets import token_urlsafe
from typing import Any

import click

from weftwork.cli.client.errors import RequestRefused, not_offered
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options
from weftwork.cli.client.upload import Upload, spool_standard_input, transfer_progress
from weftwork.cli.console.documents import as_object
from weftwork.cli.console.option_values import read_or_refuse
from weftwork.cli.console.text import clean, say, say_json
from weftwork.cli.console.units import count_of, format_size
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.limits import Limits
from weftwork.protocol.wire.v1.paths import method_and_path, path_for

_JSON = "application/json"


@click.command("import")
@click.argument("file", metavar="FILE")
@click.option("--dry-run", is_flag=True, help="Check the bundle without a host, and import nothing.")
@client_options
def import_run(client: Client, as_json: bool, file: str, dry_run: bool) -> None:
    """Import a debug bundle of any OpenWOP host as a read-only run.

    FILE may be - for standard input. The run gets a new id and belongs to your key. It can be shown, followed,
    compared, replayed and deleted; nothing continues it, and none of its interrupts can be answered. All of it counts
    as untrusted, because a bundle can be forged. The host refuses a bundle that is truncated or malformed, and names
    the places that are wrong. Media are missing unless the bundle was saved with --media.

    \b
    Examples:
      weftwork bundle save 01m7f5zzhp2z8y1fpzhf93nsbb --media -o bundle.json --url https://there.example
      weftwork runs import bundle.json
    """
    if dry_run:
        _check(file, as_json)
    elif file == "-":
        with spool_standard_input(_JSON, None) as upload:
            _send(client, as_json, upload)
    else:
        _send(client, as_json, Upload(file, _JSON))


def _check(file: str, as_json: bool) -> None:
    """Check a bundle as a host with the default limits does."""
    # Imported here, because only this option needs the schemas.
    from weftwork.protocol.review.bundle_import import MAX_IMPORT_BYTES, read_bundle

    data = read_or_refuse(file, MAX_IMPORT_BYTES)
    where = "standard input" if file == "-" else clean(file, 200)
    if len(data) > MAX_IMPORT_BYTES:
        raise click.ClickException(f"{where} is larger than {format_size(MAX_IMPORT_BYTES)}, the limit for an import.")
    try:
        bundle = read_bundle(data, Limits())
    except ClientFault as fault:
        refusal = RequestRefused(fault.status, fault.code, fault.message, fault.details)
        raise click.ClickException(f"{where} cannot be imported: {refusal.format_message()}") from None
    counts = {"eventCount": len(bundle.events), "mediaCount": len(bundle.media)}
    if as_json:
        say_json({"sourceRunId": bundle.run["runId"], "status": bundle.status, **counts, "dryRun": True})
        return
    media = f" and {count_of(len(bundle.media), 'media file')}" if bundle.media else ""
    say(f"{where} can be imported: {count_of(len(bundle.events), 'event')}{media}; nothing was sent (--dry-run)")


def _send(client: Client, as_json: bool, upload: Upload) -> None:
    upload.on_progress, clear = transfer_progress(f"sent of {format_size(upload.size)}:")
    text = f"this host does not import runs: it does not support {method_and_path('importRun')}."
    try:
        with not_offered(text):
            answer = client.upload(path_for("importRun"), upload, idempotency_key=token_urlsafe(16))
    except RequestRefused as refused:
        limit = refused.details.get("maxRequestBodyBytes")
        if refused.status == 413 and isinstance(limit, int):
            size = f"{clean(upload.path, 200)} has {format_size(upload.size)}"
            refused.advice = f"{size}; the host imports bundles of up to {format_size(limit)}"
        raise
    finally:
        clear()
    run_id = client.require_text(answer, "runId", "the id of the imported run")
    if as_json:
        say_json(answer)
        return
    # Only the id, as from other commands that make a run, so that scripts can use it.
    say(clean(run_id))
    advice = f"show it with `weftwork runs show {clean(run_id)}`"
    say(f"imported{_counts(as_object(answer))}; the run is read-only; {advice}", err=True)


def _counts(answer: dict[str, Any]) -> str:
    events, media = answer.get("eventCount"), answer.get("mediaCount")
    parts = [count_of(events, "event")] if isinstance(events, int) else []
    parts += [count_of(media, "media file")] if isinstance(media, int) and media else []
    return f" {', '.join(parts)}" if parts else ""
