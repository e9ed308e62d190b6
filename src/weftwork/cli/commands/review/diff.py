"""`weftwork diff`: compare two runs of a host, by their events and by their outcome."""

import shutil
import sys
from collections.abc import Iterator
from typing import Any, Final

import click

from weftwork.cli.client.errors import NOT_OFFERED, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options, suggest_runs
from weftwork.cli.client.run_ids import complete_run_id
from weftwork.cli.client.run_tree import fork_text
from weftwork.cli.compare.alignment import EventPair, align_events
from weftwork.cli.compare.media_names import MediaNames
from weftwork.cli.compare.side_by_side import SideBySide, StyledLine, outcome_pairs
from weftwork.cli.console.documents import as_list, as_object, as_text, objects
from weftwork.cli.console.table import align
from weftwork.cli.console.text import can_draw, clean, say, say_json
from weftwork.cli.console.units import count_of, format_elapsed
from weftwork.protocol.json.values import is_object
from weftwork.protocol.review.compared_form import ComparedForm
from weftwork.protocol.wire.v1.paths import path_for

EXIT_DIFFERENT: Final = 1
EXIT_NOT_COMPARED: Final = 2
PLAIN_WIDTH: Final = 120
"""Width of the text if standard output is not a terminal."""
MAX_DIFFERENCES: Final = 50
"""Maximum number of differing events that are shown without --all."""


class NotCompared(click.ClickException):
    """The runs were not compared, or not to their ends."""

    exit_code = EXIT_NOT_COMPARED


@click.command()
@click.argument("a", metavar="A", shell_complete=suggest_runs)
@click.argument("b", metavar="B", shell_complete=suggest_runs)
@click.option(
    "--outcome",
    "by_outcome",
    is_flag=True,
    help="Compare only what the runs produced, not their events. Requires a weftwork host.",
)
@click.option(
    "--context", type=click.IntRange(0, 100), default=3, show_default=True, help="Equal events around a difference."
)
@click.option("--all", "every", is_flag=True, help=f"Show all differing events, not only the first {MAX_DIFFERENCES}.")
@client_options
def diff(client: Client, as_json: bool, a: str, b: str, by_outcome: bool, context: int, every: bool) -> None:
    """Compare two runs.

    Shows the values in which the outcomes of run A and run B differ, and then the differing events side by side. What
    differs between any two runs is not compared: ids of the runs and of events, times, and URLs of media.

    Exits with 0 if the runs are equal, with 1 if they differ, and with 2 if they could not be compared to their ends,
    for example because a run is still live. With --outcome, runs are equal if their status, error, outputs, variables,
    channels and nodes are. The order of their events does not matter.

    \b
    Examples:
      weftwork diff 01m7f5zz 01m7f61q
      weftwork diff 01m7f5zz 01m7f61q --outcome --json
    """
    a, b = complete_run_id(client, a), complete_run_id(client, b)
    outcome = _get(client, "diffRunOutcome", a, b)
    if by_outcome and outcome is None:
        raise NotCompared("this host does not compare outcomes, which is a weftwork extension; leave out --outcome.")
    document = {"a": a, "b": b} if by_outcome else _get(client, "diffRun", a, b)
    if document is None:
        raise NotCompared("this host does not compare runs: the operation is optional for OpenWOP hosts.")
    if as_json:
        say_json({**document, "outcome": outcome})
    else:
        _print_comparison(client, document, outcome, context, None if every else MAX_DIFFERENCES)
    is_different = is_object(outcome) and outcome.get("same") is False
    is_incomplete = is_object(outcome) and outcome.get("same") is None
    if not by_outcome:
        is_different = is_different or bool(document.get("eventDiffs")) or bool(document.get("stateDiff"))
        is_incomplete = is_incomplete or document.get("truncated") is True
    if is_different:
        raise SystemExit(EXIT_DIFFERENT)
    if is_incomplete:
        raise NotCompared("no difference was found, but a run has not ended, or is too long to be compared to its end.")


def _get(client: Client, operation: str, a: str, b: str) -> dict[str, Any] | None:
    """The document of a comparison; None if the host does not have the operation."""
    try:
        return as_object(client.get(path_for(operation, runId=a), against=b))
    except RequestRefused as refused:
        if refused.status not in NOT_OFFERED:
            raise
        # Raises the host's own 404 if one of the runs does not exist.
        for run_id in (a, b):
            client.get(path_for("getRun", runId=run_id))
        return None


def _print_comparison(
    client: Client, document: dict[str, Any], outcome: dict[str, Any] | None, context: int, most: int | None
) -> None:
    ids = [as_text(document.get(name)) for name in ("a", "b")]
    runs = [as_object(client.try_get(path_for("getRun", runId=run_id))) for run_id in ids]
    sources = [as_text(as_object(run.get("forkedFrom")).get("runId")) for run in runs]
    form = ComparedForm([*ids, *sources])
    media = MediaNames(lambda token, count: client.try_read(path_for("getAsset", token=token), count))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PLAIN_WIDTH
    screen = SideBySide(width, media, form)
    _say_styled(_head_lines(ids, runs))
    differences = outcome_pairs(outcome, document)
    if differences:
        say("")
        say(f"the outcomes differ in {count_of(len(differences), 'value')}:")
        _say_styled(screen.outcome_lines(differences))
    elif as_object(outcome).get("same") is True:
        say("")
        say("the outcomes are the same.")
    if "eventDiffs" in document:
        say("")
        _print_events(client, document, screen, form, context, most)


def _print_events(
    client: Client, document: dict[str, Any], screen: SideBySide, form: ComparedForm, context: int, most: int | None
) -> None:
    start = document.get("divergedAtSeq")
    cut = document.get("truncated") is True
    if not isinstance(start, int):
        say("no event differs so far." if cut else "no event differs.")
        return
    say(f"the events differ from sequence {start}:")
    equal = _events_around(client, as_text(document.get("a")), start - context) if context else {}
    before = [equal[at] for at in range(max(0, start - context), start) if at in equal]
    pairs = [EventPair("omitted", length=start - len(before))] if start > len(before) else []
    pairs += [EventPair("same", event, event) for event in before]
    pairs += align_events(as_list(document.get("eventDiffs")), form, equal, context)
    _say_styled(screen.event_lines(pairs, context, most))
    if cut:
        say("the rest was not compared: a run has not ended, or a limit was reached.", err=True)


def _events_around(client: Client, run_id: str, start: int) -> dict[int, dict[str, Any]]:
    """A page of the events of a run, by sequence. Those that no difference names are equal in both runs."""
    page = client.try_get(f"{path_for('pollRunEvents', runId=run_id)}?lastSequence={max(-1, start - 1)}")
    found = {event.get("sequence"): event for event in objects(as_object(page).get("events"))}
    return {sequence: event for sequence, event in found.items() if isinstance(sequence, int)}


def _head_lines(ids: list[str], runs: list[dict[str, Any]]) -> Iterator[StyledLine]:
    rows = [
        [
            name,
            clean(run_id, 60),
            clean(as_text(run.get("workflowId")), 60),
            clean(as_text(run.get("status")), 40),
            format_elapsed(run.get("startedAt", run.get("createdAt")), run.get("completedAt")),
            _fork(run, ids),
        ]
        for name, run_id, run in zip("ab", ids, runs, strict=True)
    ]
    yield from ((line, "bold") for line in align(rows))


def _fork(run: dict[str, Any], ids: list[str]) -> str:
    forked_from = as_object(run.get("forkedFrom"))
    if not forked_from:
        return ""
    source = as_text(forked_from.get("runId"))
    name = "ab"[ids.index(source)] if source in ids else source
    return clean(f"fork of {name}, {fork_text(forked_from)}", 100)


def _say_styled(lines: Iterator[StyledLine]) -> None:
    """Print the lines; with colours on a terminal, unless NO_COLOR is set."""
    if not can_draw():
        for text, _ in lines:
            say(text)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False)
    for text, style in lines:
        console.print(Text(text, style, no_wrap=True), soft_wrap=True)
