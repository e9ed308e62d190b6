"""`weftwork run`: start a run on a host, and optionally follow it."""

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
from weftwork.protocol.media.media_types import UNKNOWN_TYPE
from weftwork.protocol.privacy.trust import TRUST_OPTION
from weftwork.protocol.run.events import UNTRUSTED
from weftwork.protocol.spelling import did_you_mean
from weftwork.protocol.wire.v1.paths import method_and_path, path_for

_LIST_HINT: Final = "`weftwork workflows ls` lists the workflows of the host."


def _finite(_context: click.Context, _parameter: click.Parameter, seconds: float | None) -> float | None:
    if seconds is not None and not isfinite(seconds):
        raise click.BadParameter(f"{seconds} is not a number of seconds.")
    return seconds


@click.command()
@click.argument("workflow", metavar="WORKFLOW", shell_complete=suggest_workflows)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=VALUE",
    help="Input value. NAME=@FILE reads the value from a file; @FILE reads a JSON object of inputs, @- from standard "
    "input. Repeatable.",
)
@click.option(
    "--media",
    multiple=True,
    metavar="NAME=FILE",
    help="File to upload as an input; the input refers to the uploaded asset. NAME=FILE;type=TYPE sets the media type, "
    "such as image/png. Repeatable.",
)
@click.option(
    "--configurable", multiple=True, metavar="NAME=VALUE", help="Run option, in the form of --input. Repeatable."
)
@click.option("--untrusted", is_flag=True, help="Treat all inputs as untrusted content: sets the option trustBoundary.")
@click.option("--tag", "tags", multiple=True, metavar="TEXT", help="Tag of the run. Repeatable.")
@click.option(
    "--metadata", multiple=True, metavar="NAME=VALUE", help="Metadata of the run, in the form of --input. Repeatable."
)
@click.option(
    "--idempotency-key",
    metavar="TEXT",
    help="Idempotency key: requests with the same key and the same inputs start only one run.  [default: a new key]",
)
@click.option("--follow", is_flag=True, help="Follow the run to its end. Without it, only the run id is printed.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    callback=_finite,
    metavar="SECONDS",
    help="Maximum time to follow the run, in seconds.  [default: no limit]",
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
    untrusted: bool,
    tags: tuple[str, ...],
    metadata: tuple[str, ...],
    idempotency_key: str | None,
    follow: bool,
    timeout: float | None,
    no_wait: bool,
) -> None:
    """Start a run of a workflow.

    WORKFLOW is the id of a workflow on the host, or a .json file, which is registered first. A value is parsed as JSON
    if possible, otherwise it is text: --input count=3 --input name=Ada. With --media photo=shelf.png the file is
    uploaded, and the input photo is an object with its mediaRef, mimeType and name.

    With --follow, a terminal shows a live tree of the nodes and child runs; otherwise one line per event is printed.
    With --follow --json, each event is a line of JSON, and the last line is the run's snapshot. Ctrl-C stops following;
    the run continues on the host.

    \b
    Examples:
      weftwork run hello --follow
      weftwork run order --input id=7 --input @order.json --tag urgent

    \b
    Exit codes (the run continues on the host after 4, 5, 8, 130, 141 and 143):
        0  the run completed; without --follow: the run was started
        1  the run failed, or ended with an unknown status
        2  invalid command line
        3  the run was cancelled
        4  the run waits for an answer or is paused, with --no-wait
        5  --timeout elapsed
        6  the host cannot be reached
        7  the host refused the request
        8  standard output cannot be written
      130  interrupted with Ctrl-C
      141  standard output was closed by its reader
      143  terminated by SIGTERM while showing the tree
    """
    if not follow and (timeout is not None or no_wait):
        raise click.UsageError("--timeout and --no-wait require --follow.")
    body: dict[str, Any] = {
        "inputs": parse_pairs("--input", inputs),
        "configurable": _options(configurable, untrusted),
        "metadata": parse_pairs("--metadata", metadata),
        "tags": list(tags),
    }
    input_values: dict[str, Any] = body["inputs"]
    files = _media_files(media, input_values) if media else {}
    workflow_id, definition = _register(client, workflow) if workflow.endswith(".json") else (workflow, None)
    if files and definition is None:
        _require_workflow(client, workflow_id)
    if input_values and definition is None:
        definition = client.try_get(path_for("getWorkflow", workflowId=workflow_id))
    _warn_of_misspelt_inputs(definition, input_values)
    for name, file in files.items():
        sent = upload_asset(client, file)
        asset = {"mimeType": file.media_type, "name": file.name, **sent}
        if asset["mimeType"] == UNKNOWN_TYPE:
            # The declared type lets a node that sends the file to a model refuse it if the bytes are of another type.
            asset["mimeType"] = file.media_type
        input_values[name] = {member: asset[member] for member in ("mediaRef", "mimeType", "name")}
    answer = _start(client, {"workflowId": workflow_id, **{k: v for k, v in body.items() if v}}, idempotency_key)
    run_id: str = answer["runId"]
    if not follow:
        say(json_line(answer) if as_json else clean(run_id))
        if not as_json:
            say(f"run started; follow it with `weftwork events {quote_id(run_id)} --follow`.", err=True)
        return
    if timeout is not None:
        client.deadline = time.monotonic() + timeout
    raise SystemExit(follow_run(client, run_id, as_json, no_wait, workflow_id, definition))


def _options(configurable: tuple[str, ...], untrusted: bool) -> dict[str, Any]:
    """The options of the run. Raises UsageError."""
    options = parse_pairs("--configurable", configurable)
    if untrusted and options.setdefault(TRUST_OPTION, UNTRUSTED) != UNTRUSTED:
        raise click.UsageError(f"--untrusted contradicts --configurable {TRUST_OPTION}; remove one of them.")
    return options


def _media_files(media: tuple[str, ...], inputs: dict[str, Any]) -> "dict[str, Upload]":
    """The files of --media by input name, checked but not yet uploaded. Raises UsageError."""
    files: dict[str, Upload] = {}
    for text in media:
        name, _, rest = text.partition("=")
        path, has_type, media_type = rest.rpartition(";type=")
        if not name or not rest:
            raise click.UsageError(
                f"--media {clean(text, 60)} must have the form NAME=FILE or NAME=FILE;type=image/png."
            )
        if name in inputs or name in files:
            raise click.UsageError(f"the input {clean(name, 60)} is given twice; remove one --input or --media.")
        files[name] = Upload(path, media_type) if has_type else Upload(rest)
    return files


def _warn_of_misspelt_inputs(definition: Any, inputs: dict[str, Any]) -> None:
    """Warn of inputs that look like a misspelt variable: a host accepts unknown inputs, and they have no effect."""
    names = [str(each.get("name")) for each in objects(as_object(definition).get("variables"))]
    for name in inputs:
        if name not in names and (hint := did_you_mean(name, names)):
            say(f"warning: the workflow has no input {clean(name, 60)}{clean(hint)}", err=True)


def _require_workflow(client: Client, workflow_id: str) -> None:
    """Raises RequestRefused if the host has no such workflow. A key that may not read workflows passes."""
    try:
        client.get(path_for("getWorkflow", workflowId=workflow_id))
    except RequestRefused as refused:
        # Some hosts do not expose definitions; a host that lists workflows does, so its 404 is conclusive.
        if refused.status == 404 and is_object(client.try_get(path_for("listWorkflows"))):
            say(_LIST_HINT, err=True)
            raise


def _start(client: Client, body: dict[str, Any], idempotency_key: str | None) -> dict[str, Any]:
    try:
        answer = client.post(path_for("createRun"), body, idempotency_key=idempotency_key or token_urlsafe(24))
    except KeyboardInterrupt:
        say("interrupted before the host replied; the run may have started. Check `weftwork runs ls`.", err=True)
        raise
    except RequestRefused as refused:
        if refused.details.get("pointer") == "/workflowId":
            say(_LIST_HINT, err=True)
        raise
    client.require_text(answer, "runId", "the run id")
    return answer


def _register(client: Client, name: str) -> tuple[str, Any]:
    """Register the definition in a file; returns its workflow id and the definition."""
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
            text = f"this host does not accept definitions at {method_and_path('registerWorkflow')}"
            advice = "register the workflow by the host's own means, then run it by its id"
            raise RequestRefused(refused.status, "", f"{text}; {advice}") from None
        located = definition_file.locate_problems(name, data, refused.message, refused.details)
        say_lines(map(definition_file.problem_line, located), err=True)
        raise
    workflow_id = as_object(answer).get("workflowId") or as_object(document).get("id")
    if not isinstance(workflow_id, str):
        raise HostUnreachable(f"{client.url} sent a response without a `workflowId`; check --url.")
    return workflow_id, document
