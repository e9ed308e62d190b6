"""`weftwork eval`: branch recorded runs with other models or prompts, and compare the outcomes."""

import json
import re
import time
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from typing import Any, Final

import click

from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options, suggest_runs, suggest_workflows
from weftwork.cli.client.run_selection import TAG_PREFIX, select_runs
from weftwork.cli.console.documents import as_object
from weftwork.cli.console.text import clean, say, say_document, say_json, say_lines
from weftwork.cli.console.units import count_of, parse_duration
from weftwork.cli.eval.checks import load_checks
from weftwork.cli.eval.estimate import estimate, estimate_document, estimate_lines, read_prices
from weftwork.cli.eval.evaluation import Evaluation, read_sources
from weftwork.cli.eval.results import Results
from weftwork.cli.eval.results_table import table_lines
from weftwork.cli.eval.sources import named_runs
from weftwork.cli.eval.variants import parse_variants
from weftwork.protocol.run.header import TERMINAL_STATUSES
from weftwork.protocol.timestamps import iso
from weftwork.protocol.wire.v1.paths import path_for

MAX_PARALLEL: Final = 32
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def _finite(_context: click.Context, _parameter: click.Parameter, seconds: float | None) -> float | None:
    if seconds is not None and not isfinite(seconds):
        raise click.BadParameter(f"{seconds} is not a number of seconds.")
    return seconds


def _checked_name(_context: click.Context, _parameter: click.Parameter, name: str | None) -> str | None:
    if name is not None and _NAME.fullmatch(name) is None:
        raise click.BadParameter("use 1 to 100 letters, digits, dots, hyphens and underscores.")
    return name


@click.command("eval")
@click.argument("runs", metavar="[RUN...]", nargs=-1, shell_complete=suggest_runs)
@click.option("--model", "models", multiple=True, metavar="PROVIDER/MODEL", help="Branch with this model. Repeatable.")
@click.option(
    "--prompt",
    "prompts",
    multiple=True,
    metavar="ID=TEXT",
    help="Branch with this text for the prompt ID; ID=@FILE reads it from a file. Repeatable.",
)
@click.option("--combine", is_flag=True, help="Branch with each --model and each --prompt together.")
@click.option(
    "--check",
    "check_names",
    multiple=True,
    metavar="MODULE:FUNCTION",
    help="Function that scores a run. Repeatable.  [default: outputs equal to those of the recorded run]",
)
@click.option("--workflow", metavar="ID", shell_complete=suggest_workflows, help="Instead of RUN: runs of a workflow.")
@click.option(
    "--status",
    "statuses",
    type=click.Choice(sorted(TERMINAL_STATUSES)),
    multiple=True,
    help="Instead of RUN: runs with this status. Repeatable.  [default: completed]",
)
@click.option(
    "--since", callback=parse_duration, metavar="AGE", help="Instead of RUN: runs created within 90m, 12h, 30d, 2w."
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Instead of RUN: only the N newest of these runs.")
@click.option(
    "--parallel",
    type=click.IntRange(1, MAX_PARALLEL),
    default=4,
    show_default=True,
    metavar="N",
    help="Maximum number of forks that are active at the same time.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    callback=_finite,
    metavar="SECONDS",
    help="Maximum time to follow each fork, in seconds.  [default: no limit]",
)
@click.option("--cancel-waiting", is_flag=True, help="Cancel the forks that wait for an answer, at the end.")
@click.option(
    "--keep/--no-keep",
    default=True,
    help="Keep the forks on the host, or delete those that have ended.  [default: keep]",
)
@click.option(
    "--name", callback=_checked_name, metavar="NAME", help="The forks get the tag eval:NAME.  [default: the time]"
)
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Write the results here.")
@click.option("--dry-run", is_flag=True, help="Show the number of forks and an estimate of their cost; start nothing.")
@click.option("--config", metavar="FILE", help="With --dry-run: TOML file with the settings of the host, for prices.")
@click.option("--yes", is_flag=True, help="Without RUN: do not ask for confirmation.")
@client_options
def eval(  # noqa: A001
    client: Client,
    as_json: bool,
    runs: tuple[str, ...],
    models: tuple[str, ...],
    prompts: tuple[str, ...],
    combine: bool,
    check_names: tuple[str, ...],
    workflow: str | None,
    statuses: tuple[str, ...],
    since: int | None,
    limit: int | None,
    parallel: int,
    timeout: float | None,
    cancel_waiting: bool,
    keep: bool,
    name: str | None,
    out: Path | None,
    dry_run: bool,
    config: str | None,
    yes: bool,
) -> None:
    """Compare models and prompts on recorded runs.

    Each RUN is branched with each model and each prompt, from the start of the first node that called a model. The
    branches are followed to their end and scored, and the table compares them with the recorded runs. RUN is an id, a
    prefix of one, or @FILE with one of them per line. Branches act: effects after the fork point happen again.

    A branch that waits for an answer is left waiting. Ctrl-C prints the results that are known by then. --json and
    --out give all results as one document.

    \b
    Examples:
      weftwork eval 01m7f5zz --model local/small --model openai/gpt-4.1-mini
      weftwork eval --workflow triage --since 2d --limit 20 --model local/small --check scores:is_correct
      weftwork eval @runs.txt --prompt triage=@shorter.txt --dry-run

    \b
    Exit codes:
        0  every fork completed and has all scores
        1  a fork failed or was cancelled, a check failed, or there is nothing to evaluate
        2  invalid command line
        4  a fork waits for an answer or is paused
        5  --timeout elapsed for a fork
        6  the host cannot be reached
        7  the host refused a request
        8  standard output or FILE cannot be written
      130  interrupted with Ctrl-C
    """
    if bool(runs) is bool(workflow or statuses):
        raise click.UsageError("name the runs, or select them with --workflow or --status.")
    if runs and (since is not None or limit is not None):
        raise click.UsageError("--since and --limit need --workflow or --status.")
    variants, checks = parse_variants(models, prompts, combine), load_checks(check_names)
    if out is not None:
        _check_writable(out)
    run_ids = (
        named_runs(client, runs)
        if runs
        else select_runs(client, statuses or ("completed",), workflow, since, limit, without_tag=TAG_PREFIX)
    )
    sources, skipped = read_sources(client, run_ids)
    if not sources:
        say_lines([f"{clean(each.run_id)}: skipped: {each.reason}" for each in skipped], err=True)
        raise click.ClickException("there is nothing to evaluate.")
    if dry_run:
        prices = read_prices(config)
        estimates = [estimate(each, sources, prices) for each in variants]
        document = estimate_document(estimates, sources, skipped)
        say_document(document, as_json, estimate_lines(estimates, sources, skipped))
        return
    forks = count_of(len(sources) * len(variants), "fork")
    if not runs and not yes:
        click.confirm(f"Start {forks} of {count_of(len(sources), 'run')}?", abort=True, err=True)
    now = int(time.time() * 1000)
    label = name or time.strftime("%Y%m%d-%H%M%S", time.gmtime(now / 1000))
    results = Results(
        label, iso(now), _versions(client), [each.name for each in checks], variants, list(sources), list(skipped)
    )
    say(f"{forks}, tag {TAG_PREFIX}{label}", err=True)
    evaluation = Evaluation(client, results, checks, f"{TAG_PREFIX}{label}")
    evaluation.run(parallel, timeout)
    evaluation.clean_up(cancel_waiting, keep)
    if as_json:
        say_json(results.document)
    else:
        say_lines(table_lines(results))
    if out is not None:
        _write(out, results.document)
    raise SystemExit(evaluation.finish())


def _versions(client: Client) -> dict[str, Any]:
    """Of this command and, if known, of the host."""
    found = as_object(client.try_get(path_for("getCapabilities"))).get("implementation")
    host = {name: value for name, value in as_object(found).items() if name in ("name", "version")}
    return {"weftwork": version("weftwork"), "host": host}


def _check_writable(file: Path) -> None:
    """Fail before anything is started."""
    try:
        with file.open("a"):
            pass
    except OSError as error:
        raise click.UsageError(f"--out {clean(str(file), 200)} cannot be written: {error.strerror}.") from None


def _write(file: Path, document: dict[str, Any]) -> None:
    try:
        file.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
    except OSError as error:
        say(f"--out {clean(str(file), 200)} cannot be written: {error.strerror}.", err=True)
        raise SystemExit(8) from None
