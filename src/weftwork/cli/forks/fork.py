"""`weftwork runs fork`: continue or repeat a run from any of its events, as a new run."""

from secrets import token_urlsafe
from typing import Any

import click

from weftwork.cli.client.errors import NOT_OFFERED, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options, suggest_runs
from weftwork.cli.client.run_ids import complete_run_id
from weftwork.cli.console.documents import as_object
from weftwork.cli.console.option_values import parse_pairs
from weftwork.cli.console.text import clean, json_line, say
from weftwork.cli.follow.follow_run import follow_run
from weftwork.cli.render.interrupt_text import quote_id
from weftwork.protocol.wire.v1.paths import path_for


@click.command()
@click.argument("run_id", metavar="RUN", shell_complete=suggest_runs)
@click.option(
    "--at",
    "from_seq",
    type=click.IntRange(0),
    metavar="N",
    help="First event that the fork does not share with RUN.  [default with --replay: 0]",
)
@click.option("--replay", is_flag=True, help="Reuse every recorded outcome, and check the decisions.")
@click.option(
    "--set",
    "inputs",
    multiple=True,
    metavar="NAME=VALUE",
    help="Replace an input, in the form of --input of run. Repeatable.",
)
@click.option("--model", metavar="PROVIDER/MODEL", help="Use this model from the fork point on.")
@click.option("--configurable", multiple=True, metavar="NAME=VALUE", help="Replace a run option. Repeatable.")
@click.option("--follow", is_flag=True, help="Follow the fork to its end. Without it, only its run id is printed.")
@client_options
def fork(
    client: Client,
    as_json: bool,
    run_id: str,
    from_seq: int | None,
    replay: bool,
    inputs: tuple[str, ...],
    model: str | None,
    configurable: tuple[str, ...],
    follow: bool,
) -> None:
    """Fork a run: a new run with the events of RUN before event N, which acts on its own from there on.

    RUN stays as it is. Inputs, options and the model can be replaced. Deadlines count from the fork, and open
    interrupts are open in the fork too, with links of their own.

    With --replay, nothing is called: recorded answers and effects are used again, and the first difference is recorded
    as replay.diverged.

    \b
    Examples:
      weftwork runs fork 01m7f5zzhp2z8y1fpzhf93nsbb --at 12 --set amount=80 --follow
      weftwork runs fork 01m7f5zzhp2z8y1fpzhf93nsbb --replay
    """
    overlay = overlay_of(inputs, model, configurable)
    if replay and overlay:
        raise click.UsageError("--replay reaches what was recorded; leave out --set, --model and --configurable.")
    if not replay and from_seq is None:
        raise click.UsageError(
            "--at is missing: the first event that the fork does not share with RUN. `weftwork events RUN` shows the "
            "sequences of the events."
        )
    run_id = complete_run_id(client, run_id)
    body: dict[str, Any] = {"mode": "replay" if replay else "branch", "fromSeq": from_seq or 0}
    if overlay:
        body["runOptionsOverlay"] = overlay
    answer = request_fork(client, "forkRun", run_id, body)
    say_fork(client, answer, as_json, follow)


def overlay_of(inputs: tuple[str, ...], model: str | None, configurable: tuple[str, ...]) -> dict[str, Any]:
    """The options of a branch that the command line replaces. Raises UsageError."""
    options = parse_pairs("--configurable", configurable)
    if model is not None:
        provider, slash, name = model.partition("/")
        if not (provider and slash and name):
            raise click.UsageError(f"--model {clean(model, 60)} must have the form PROVIDER/MODEL.")
        options |= {"ai.provider": provider, "ai.model": name}
    overlay = {"inputs": parse_pairs("--set", inputs), "configurable": options}
    return {name: value for name, value in overlay.items() if value}


def request_fork(
    client: Client, operation: str, run_id: str, body: dict[str, Any], idempotency_key: str | None = None
) -> dict[str, Any]:
    """The host's answer to a request for a fork. A caller that repeats the request passes a key of its own."""
    key = idempotency_key or token_urlsafe(24)
    try:
        answer = client.post(path_for(operation, runId=run_id), body, idempotency_key=key)
    except RequestRefused as refused:
        if refused.status in NOT_OFFERED and not client.supports("replay"):
            raise click.ClickException("this host does not support forks of runs.") from None
        raise
    client.require_text(answer, "runId", "the run id of the fork")
    return answer


def say_fork(client: Client, answer: dict[str, Any], as_json: bool, follow: bool) -> None:
    """Print the fork, or follow it; exits with the code of `weftwork run --follow` then."""
    run_id: str = answer["runId"]
    if follow:
        snapshot = as_object(client.get(path_for("getRun", runId=run_id)))
        workflow_id = str(snapshot.get("workflowId", ""))
        raise SystemExit(follow_run(client, run_id, as_json, False, workflow_id, is_resumed=True))
    say(json_line(answer) if as_json else clean(run_id))
    if not as_json:
        say(f"fork created; follow it with `weftwork events {quote_id(run_id)} --follow`.", err=True)
