"""`weftwork history`: record a run as a file that tests can replay."""

import time
from pathlib import Path
from typing import Any

import click

from weftwork.cli.client.errors import HostUnreachable, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options, suggest_runs
from weftwork.cli.client.run_ids import complete_run_id
from weftwork.cli.console.command_group import CommandGroup
from weftwork.cli.console.documents import as_list, as_object
from weftwork.cli.console.option_values import read_file
from weftwork.cli.console.text import clean, say, say_json
from weftwork.cli.console.units import count_of, format_size
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.canonical import digest
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.values import is_object
from weftwork.protocol.models.answers import ANSWER_MASK
from weftwork.protocol.replay.history import MAX_HISTORY_BYTES, History, encode_history, read_history
from weftwork.protocol.run.events import MODEL_ANSWERED
from weftwork.protocol.scopes import DEBUG
from weftwork.protocol.wire.v1.paths import path_for


@click.group(cls=CommandGroup)
def history() -> None:
    """Record a run as a file that tests can replay.

    `weftwork.testing.replay(FILE, nodes=[...])` replays it with the code of your nodes, and fails if they no longer do
    what was recorded.
    """


@history.command()
@click.argument("run_id", metavar="RUN", shell_complete=suggest_runs)
@click.argument("file", metavar="FILE")
@click.option(
    "--workflow",
    metavar="FILE",
    help="The definition that the run was started with, if the host no longer lists it.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@client_options
def record(client: Client, as_json: bool, run_id: str, file: str, workflow: str | None, force: bool) -> None:
    """Write the history of a run to FILE.

    The file has the options of the run, its definition and all its events. The run may have ended or wait for a person.
    The key needs the scope runs:debug if the run has called models. Sensitive values are masked by the host; the file
    says where, and a replay does not call the nodes that these values can reach. Everything else is recorded as it is,
    so review the file before you commit it.

    \b
    Examples:
      weftwork history record 01m7f5zzhp2z8y1fpzhf93nsbb tests/histories/release.json
      weftwork history record 01m7f5zzhp2z8y1fpzhf93nsbb release.json --workflow release-v1.json
    """
    path = Path(file)
    if path.exists() and not force:
        raise click.UsageError(f"{path} already exists; overwrite it with --force, or choose another file.")
    run_id = complete_run_id(client, run_id)
    pinned, snapshot = _pinned_definition(client, run_id)
    events = _read_log(client, run_id)
    definition = _find_definition(client, snapshot, pinned, workflow)
    host = as_object(as_object(client.try_get(path_for("getCapabilities"))).get("implementation"))
    named = {name: str(host[name]) for name in ("name", "version") if name in host}
    try:
        data = encode_history(snapshot, events, definition, named, int(time.time() * 1000))
    except ClientFault as fault:
        raise HostUnreachable(f"{client.url} sent a run that cannot be recorded: {fault.message}") from None
    if len(data) > MAX_HISTORY_BYTES:
        raise click.ClickException(
            f"the history has {format_size(len(data))}, and a history may have {format_size(MAX_HISTORY_BYTES)}."
        )
    try:
        path.write_bytes(data)
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}.") from None
    _report(run_id, path, read_history(data), len(data), as_json)


def _report(run_id: str, path: Path, recorded: History, size: int, as_json: bool) -> None:
    count, masked = len(recorded.events), recorded.masked
    if as_json:
        places = {"inputs": masked.inputs, "events": masked.events} if masked is not None else None
        summary = {"runId": run_id, "file": str(path), "bytes": size, "eventCount": count, "masked": places}
        say_json({**summary, "status": recorded.status})
        return
    say(f"{clean(str(path))}: {count_of(count, 'event')}, {format_size(size)}, {clean(recorded.status)}")
    if masked is not None:
        places = f"{count_of(len(masked.events), 'event')} and {count_of(len(masked.inputs), 'input')}"
        say(f"{places} are masked; a replay does not call the nodes that read them", err=True)


def _pinned_definition(client: Client, run_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The digest and version of the definition of a run, if the host says them, and the snapshot of the run."""
    snapshot = as_object(client.get(path_for("getRun", runId=run_id)))
    try:
        bundle = as_object(client.get(path_for("getDebugBundle", runId=run_id), maxEvents=1))
    except RequestRefused:
        return {}, snapshot
    return as_object(as_object(bundle.get("run")).get("definition")), snapshot


def _read_log(client: Client, run_id: str) -> list[dict[str, Any]]:
    """All events of the run so far. Raises ClickException if the key does not show the answers of models."""
    events: list[dict[str, Any]] = []
    while True:
        page = client.get(path_for("pollRunEvents", runId=run_id), lastSequence=len(events) - 1, timeout=1)
        documents = [each for each in as_list(as_object(page).get("events")) if is_object(each)]
        events += [each for each in documents if each.get("sequence", -1) >= len(events)]
        if not documents or as_object(page).get("isComplete") is True:
            break
    if any(each["type"] == MODEL_ANSWERED and ANSWER_MASK in str(each["payload"]) for each in events):
        text = f"the run has called models, and this key does not show their answers; use a key with the scope {DEBUG}."
        raise click.ClickException(text)
    return events


def _find_definition(
    client: Client, snapshot: dict[str, Any], pinned: dict[str, Any], file: str | None
) -> dict[str, Any]:
    """The definition of the run. Raises ClickException for any other definition."""
    expected, version = pinned.get("digest"), pinned.get("version")
    if file is not None:
        try:
            found = as_object(decode(read_file("--workflow", file)))
        except ClientFault as fault:
            raise click.ClickException(f"{clean(file, 200)} is not a definition: {fault.message}") from None
        wrong = f"{clean(file, 200)} is not the definition that the run was started with."
    else:
        found = _registered_definition(client, str(snapshot.get("workflowId")), version)
        wrong = "the host no longer lists the definition that the run was started with; pass it with --workflow FILE."
    if not found or (expected is not None and digest(found) != expected):
        raise click.ClickException(wrong)
    return found


def _registered_definition(client: Client, workflow_id: str, version: Any) -> dict[str, Any]:
    path = path_for("getWorkflow", workflowId=workflow_id)
    for query in ({"version": version}, {}) if isinstance(version, str) and version else ({},):
        try:
            return as_object(client.get(path, **query))
        except RequestRefused as refused:
            if refused.status != 404:
                raise
    return {}
