"""`weftwork runs retry`: run the failed node of a run again, in a branch; also for many runs."""

import sys
import time
from typing import Any, Final

import click

from weftwork.cli.client.errors import RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options, suggest_runs, suggest_workflows
from weftwork.cli.client.run_ids import complete_run_id
from weftwork.cli.client.run_selection import branched_runs, select_runs
from weftwork.cli.console.documents import objects
from weftwork.cli.console.text import clean, say, say_json
from weftwork.cli.console.units import count_of, parse_duration
from weftwork.cli.forks.fork import overlay_of, request_fork, say_fork

RETRYABLE: Final = ("failed", "cancelled")
_PROGRESS_SECONDS: Final = 10.0


@click.command()
@click.argument("run_ids", metavar="[RUN...]", nargs=-1, shell_complete=suggest_runs)
@click.option("--from", "from_node", metavar="NODE", help="Start from this node instead of the failed one.")
@click.option("--set", "inputs", multiple=True, metavar="NAME=VALUE", help="Replace an input. Repeatable.")
@click.option("--model", metavar="PROVIDER/MODEL", help="Use this model from there on.")
@click.option(
    "--configurable",
    multiple=True,
    metavar="NAME=VALUE",
    help="Replace a run option. Repeatable.",
)
@click.option(
    "--repeat-effects",
    is_flag=True,
    help="Allow effects after the fork point, and of child runs that start again, to happen twice.",
)
@click.option("--allow-concurrent", is_flag=True, help="Allow a retry while another one of the run has not ended.")
@click.option(
    "--status",
    "statuses",
    type=click.Choice(RETRYABLE),
    multiple=True,
    help="Retry all runs with this status instead of RUN. Repeatable.",
)
@click.option("--workflow", metavar="ID", shell_complete=suggest_workflows, help="With --status: only this workflow.")
@click.option(
    "--since", callback=parse_duration, metavar="AGE", help="With --status: only runs created within 90m, 12h, 30d, 2w."
)
@click.option("--dry-run", is_flag=True, help="With --status: list the runs without retrying them.")
@click.option("--yes", is_flag=True, help="With --status: do not ask for confirmation.")
@click.option("--follow", is_flag=True, help="With one RUN: follow the retry to its end.")
@client_options
def retry(
    client: Client,
    as_json: bool,
    run_ids: tuple[str, ...],
    from_node: str | None,
    inputs: tuple[str, ...],
    model: str | None,
    configurable: tuple[str, ...],
    repeat_effects: bool,
    allow_concurrent: bool,
    statuses: tuple[str, ...],
    workflow: str | None,
    since: int | None,
    dry_run: bool,
    yes: bool,
    follow: bool,
) -> None:
    """Retry failed runs: new runs that keep everything before the failure and run the failed node again.

    Requires a weftwork host. RUN stays failed, and the retry is linked to it. Recorded results of the failed node are
    used again. If the outcome of an effect is unknown, the retry asks a person first. The retry of a child run is that
    of its parent, which starts the child again: if effects of the child would happen twice, the host refuses the retry
    and names them. A run has one unfinished retry at a time, unless --allow-concurrent is given. With --status, runs
    that have a branch already, such as a retry, are left out.

    \b
    Examples:
      weftwork runs retry 01m7f5zzhp2z8y1fpzhf93nsbb --follow
      weftwork runs retry 01m7f5zzhp2z8y1fpzhf93nsbb --from extract --model local/large
      weftwork runs retry --status failed --workflow order --since 2d --dry-run
    """
    if run_ids and statuses:
        raise click.UsageError("name the runs to retry or select them with --status, but not both.")
    if not run_ids and not statuses:
        raise click.UsageError("name the runs to retry, or select them with --status failed.")
    if not statuses and (workflow is not None or since is not None or dry_run):
        raise click.UsageError("--workflow, --since and --dry-run need --status.")
    if follow and len(run_ids) != 1:
        raise click.UsageError("--follow needs exactly one RUN.")
    body: dict[str, Any] = {"runOptionsOverlay": overlay_of(inputs, model, configurable)}
    if not body["runOptionsOverlay"]:
        del body["runOptionsOverlay"]
    if from_node is not None:
        body["fromNodeId"] = from_node
    if repeat_effects:
        body["repeatEffects"] = True
    if allow_concurrent:
        body["allowConcurrent"] = True
    if statuses:
        run_ids = _select_unretried(client, statuses, workflow, since)
        if dry_run or not run_ids:
            _say_selected(run_ids, as_json, dry_run)
            return
        if not yes:
            click.confirm(f"Retry {count_of(len(run_ids), 'run')}?", abort=True, err=True)
    elif len(run_ids) == 1:
        say_fork(client, _retry_one(client, complete_run_id(client, run_ids[0]), body), as_json, follow)
        return
    _retry_all(client, [complete_run_id(client, each) for each in run_ids] if not statuses else run_ids, body, as_json)


def _select_unretried(
    client: Client, statuses: tuple[str, ...], workflow: str | None, since: int | None
) -> tuple[str, ...]:
    """The runs that match and have no branch yet. Effects after the failure would happen once more in each retry."""
    selected = select_runs(client, statuses, workflow, since)
    branched = branched_runs(client, workflow, since) if selected else frozenset[str]()
    found = tuple([each for each in selected if each not in branched])
    if count := len(selected) - len(found):
        text = "a run was left out because it has a branch already" if count == 1 else ""
        text = text or f"{count:,} runs were left out because they have branches already"
        say(f"{text}, such as a retry; name a run to retry it again.", err=True)
    return found


def _retry_one(client: Client, run_id: str, body: dict[str, Any]) -> dict[str, Any]:
    try:
        return request_fork(client, "retryRun", run_id, body)
    except RequestRefused as refused:
        for effect in objects(refused.details.get("repeatedEffects")):
            step = f", step {clean(str(effect['step']))}" if effect.get("step") else ""
            child = f", in the child run {clean(str(effect['childRunId']))}" if effect.get("childRunId") else ""
            say(f"would happen again: node {clean(str(effect.get('nodeId')))}{child}{step}", err=True)
        if refused.details.get("repeatedEffects"):
            say("--repeat-effects allows it.", err=True)
        elif "retryRunId" in refused.details:
            say("--allow-concurrent makes another retry.", err=True)
        elif "runStatus" in refused.details and "fromNodeId" not in body:
            say("--from NODE runs a part of a completed run again.", err=True)
        raise


def _say_selected(run_ids: tuple[str, ...], as_json: bool, dry_run: bool) -> None:
    if as_json:
        say_json({"runs": [{"runId": each} for each in run_ids], "dryRun": dry_run})
        return
    for each in run_ids:
        say(clean(each))
    text = "no runs match these options." if not run_ids else f"{count_of(len(run_ids), 'run')} would be retried"
    say(text if not run_ids else f"{text}; nothing was started (--dry-run).", err=True)


def _retry_all(client: Client, run_ids: "tuple[str, ...] | list[str]", body: dict[str, Any], as_json: bool) -> None:
    """Retry one run after the other. A refusal is reported, and the others are still retried; then the exit code is
    that of the refusal."""
    answers: list[Any] = []
    refusal: RequestRefused | None = None
    reported_at = time.monotonic()
    for number, run_id in enumerate(run_ids, 1):
        try:
            answer = request_fork(client, "retryRun", run_id, body)
        except RequestRefused as refused:
            if refused.status in (401, 403):
                raise
            refusal = refused
            answers.append({"sourceRunId": run_id, "error": refused.code, "message": refused.message})
            say(f"{clean(run_id)}: {refused.format_message()}", err=True)
        else:
            answers.append(answer)
            if not as_json:
                say(f"{clean(run_id)} is retried as {clean(answer['runId'])}")
        if time.monotonic() - reported_at >= _PROGRESS_SECONDS and not sys.stdout.isatty():
            say(f"{number} of {len(run_ids)}", err=True)
            reported_at = time.monotonic()
    if as_json:
        say_json({"runs": answers})
    if refusal is not None:
        raise SystemExit(refusal.exit_code)
