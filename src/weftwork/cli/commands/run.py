"""`weftwork run`: start a run on a host, and follow it."""

import time
from math import isfinite
from secrets import token_urlsafe
from typing import Any, Final

import click

from weftwork.cli.client.errors import NOT_OFFERED, HostUnreachable, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options, suggest_workflows
from weftwork.cli.client.upload import Upload, upload_asset
from weftwork.cli.console.documents import as_object, objects
from weftwork.cli.console.option_values import parse_pairs
from weftwork.cli.console.text import clean, json_line, say, say_lines
from weftwork.cli.follow.follow_run import follow_run
from weftwork.cli.render.interrupt_text import quote_id
from weftwork.protocol.json.values import is_object
from weftwork.protocol.spelling import did_you_mean
from weftwork.protocol.wire.v1.paths import method_and_path, path_for

_LIST_HINT: Final = "`weftwork workflows ls` lists the workflows of the host."


def _finite(_context: click.Context, _parameter: click.Parameter, seconds: float | None) -> float | None:
    if seconds is not None and not isfinite(seconds):
        raise click.BadParameter(f"{seconds} is no number of seconds.")
    return seconds


@click.command()
@click.argument("workflow", metavar="WORKFLOW", shell_complete=suggest_workflows)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=VALUE",
    help="An input; repeatable. NAME=@FILE reads the value from a file, @FILE a JSON object of inputs, @- the same "
    "from standard input.",
)
@click.option(
    "--media",
    multiple=True,
    metavar="NAME=FILE",
    help="A file as an input; repeatable. It is sent to the host first, and the input names it. NAME=FILE;type=TYPE "
    "says what it is, as image/png.",
)
@click.option(
    "--configurable", multiple=True, metavar="NAME=VALUE", help="An option of the run; repeatable, as --input."
)
@click.option("--tag", "tags", multiple=True, metavar="TEXT", help="A tag of the run; repeatable.")
@click.option("--metadata", multiple=True, metavar="NAME=VALUE", help="Metadata of the run; repeatable, as --input.")
@click.option(
    "--idempotency-key",
    metavar="TEXT",
    help="The same key with the same inputs starts one run, however often it is sent.  [default: a new one]",
)
@click.option("--follow", is_flag=True, help="Show the run until it ends. Without, its id is printed and that is all.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    callback=_finite,
    metavar="SECONDS",
    help="Follow for so long at most.",
)
@click.option("--no-wait", is_flag=True, help="Stop following when the run waits for an answer or is paused.")
@client_options
def run(
    client: Client,
    as_json: bool,
    workflow: str,
    inputs: tuple[str, ...],
    media: tuple[str, ...],
    configurable: tuple[str, ...],
    tags: tuple[str, ...],
    metadata: tuple[str, ...],
    idempotency_key: str | None,
    follow: bool,
    timeout: float | None,
    no_wait: bool,
) -> None:
    """Start a run, and follow it to its end with --follow.

    WORKFLOW is the id of a workflow of the host, or a .json file, which is registered first. A value is JSON if it
    reads as JSON, else text: --input count=3 --input name=Ada. With --media photo=shelf.png the input photo names a
    file, as {"mediaRef", "mimeType", "name"}.

    With --follow a terminal shows a tree of nodes and the runs that they start, anything else gets a line for each
    event, and --json prints the events as JSON lines with the run's snapshot as the last one. Ctrl-C stops following,
    and the run goes on.

    \b
    Exit codes:
        0  the run completed, or was started without --follow
        1  the run failed, or ended in a way that this version does not know
        2  the command was called wrongly
        3  the run was cancelled
        4  the run waits for somebody, and --no-wait was given
        5  the time of --timeout is over, and the run goes on
        6  the host cannot be reached
        7  the host refused
        8  standard output cannot be written, and the run goes on
      130  Ctrl-C, and the run goes on
      141  nobody reads standard output any more, and the run goes on
      143  SIGTERM while the tree is shown, and the run goes on
    """
    if not follow and (timeout is not None or no_wait):
        raise click.UsageError("--timeout and --no-wait need --follow.")
    body: dict[str, Any] = {
        "inputs": parse_pairs("--input", inputs),
        "configurable": parse_pairs("--configurable", configurable),
        "metadata": parse_pairs("--metadata", metadata),
        "tags": list(tags),
    }
    given: dict[str, Any] = body["inputs"]
    files = _media_files(media, given) if media else {}
    workflow_id, definition = _register(client, workflow) if workflow.endswith(".json") else (workflow, None)
    if files and definition is None:
        _require_workflow(client, workflow_id)
    if given and definition is None:
        definition = client.try_get(path_for("getWorkflow", workflowId=workflow_id))
    _warn_of_misspelt_inputs(definition, given)
    for name, file in files.items():
        sent = upload_asset(client, file)
        known = {"mimeType": file.media_type, "name": file.name, **sent}
        given[name] = {member: known[member] for member in ("mediaRef", "mimeType", "name")}
    answer = _start(client, {"workflowId": workflow_id, **{k: v for k, v in body.items() if v}}, idempotency_key)
    run_id: str = answer["runId"]
    if not follow:
        say(json_line(answer) if as_json else clean(run_id))
        if not as_json:
            say(f"follow it with `weftwork events {quote_id(run_id)} --follow`.", err=True)
        return
    if timeout is not None:
        client.deadline = time.monotonic() + timeout
    raise SystemExit(follow_run(client, run_id, as_json, no_wait, workflow_id, definition))


def _media_files(media: tuple[str, ...], inputs: dict[str, Any]) -> "dict[str, Upload]":
    """The files that are to become inputs, each looked at. Raises UsageError."""
    found: dict[str, Upload] = {}
    for text in media:
        name, _, rest = text.partition("=")
        path, sign, media_type = rest.rpartition(";type=")
        if not name or not rest:
            raise click.UsageError(f"--media {clean(text, 60)} must look like NAME=FILE or NAME=FILE;type=image/png.")
        if name in inputs or name in found:
            raise click.UsageError(f"the input {clean(name, 60)} is given twice.")
        found[name] = Upload(path, media_type) if sign else Upload(rest)
    return found


def _warn_of_misspelt_inputs(definition: Any, given: dict[str, Any]) -> None:
    """An input that is no variable of the workflow is accepted and has no effect; if it looks like one, say so."""
    names = [str(each.get("name")) for each in objects(as_object(definition).get("variables"))]
    for name in given:
        if name not in names and (hint := did_you_mean(name, names)):
            say(f"warning: the workflow has no input {clean(name, 60)}{clean(hint)}", err=True)


def _require_workflow(client: Client, workflow_id: str) -> None:
    """Raises RequestRefused if the host has no such workflow. A key that may not read workflows passes."""
    try:
        client.get(path_for("getWorkflow", workflowId=workflow_id))
    except RequestRefused as refused:
        # Not every host shows its workflows; one that lists some does.
        if refused.status == 404 and is_object(client.try_get(path_for("listWorkflows"))):
            say(_LIST_HINT, err=True)
            raise


def _start(client: Client, body: dict[str, Any], idempotency_key: str | None) -> dict[str, Any]:
    try:
        answer = client.post(path_for("createRun"), body, idempotency_key=idempotency_key or token_urlsafe(24))
    except KeyboardInterrupt:
        say("the host had not answered yet, and may have started the run; see `weftwork runs ls`.", err=True)
        raise
    except RequestRefused as refused:
        if refused.details.get("pointer") == "/workflowId":
            say(_LIST_HINT, err=True)
        raise
    client.require_text(answer, "runId", "which run it started")
    return answer


def _register(client: Client, name: str) -> tuple[str, Any]:
    """The id under which the host has the definition of a file now, and the definition."""
    from weftwork.cli.render import definition_file

    try:
        data = definition_file.read_definition(name)
    except OSError as error:
        raise click.UsageError(f"{clean(name)} cannot be read: {error.strerror}.") from None
    document, problems = definition_file.parse_definition(name, data)
    if problems:
        raise click.UsageError("\n".join(map(definition_file.problem_line, problems)))
    try:
        answer = client.post(path_for("registerWorkflow"), document)
    except RequestRefused as refused:
        if refused.status in NOT_OFFERED:
            text = f"this host takes no definitions at {method_and_path('registerWorkflow')}"
            advice = "register it in the host's own way and name it by its id"
            raise RequestRefused(refused.status, "", f"{text}; {advice}") from None
        found = definition_file.locate_problems(name, data, refused.message, refused.details)
        say_lines(map(definition_file.problem_line, found), err=True)
        raise
    found = as_object(answer).get("workflowId") or as_object(document).get("id")
    if not isinstance(found, str):
        raise HostUnreachable(f"{client.url} does not say under which id it has the workflow.")
    return found, document
