"""`weftwork events`: print the events of a run so far, or follow the run."""

from collections.abc import Iterator
from typing import Any, Final

import click

from weftwork.cli.client.event_stream import ReceivedFrame, frame_of_document
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.options import client_options, suggest_runs
from weftwork.cli.client.run_ids import complete_run_id
from weftwork.cli.console.documents import as_list, as_object
from weftwork.cli.console.text import json_line, say, say_lines
from weftwork.cli.follow.run_watch import is_still_open, print_node_interrupt
from weftwork.cli.render.event_line import is_repeat, run_event_line
from weftwork.cli.render.run_progress import INTERRUPT_EVENTS, RunProgress
from weftwork.protocol.wire.streams import UPDATE_TYPES
from weftwork.protocol.wire.v1.paths import path_for

MODES: Final = ("updates", "values", "messages", "debug")


@click.command()
@click.argument("run_id", metavar="RUN", shell_complete=suggest_runs)
@click.option("--follow", is_flag=True, help="Keep printing new events until the run ends.")
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default="debug",
    show_default=True,
    help="debug: all events; updates: main events; values: snapshots; messages: text from models.",
)
@click.option(
    "--from",
    "start",
    type=click.IntRange(0),
    default=0,
    metavar="SEQ",
    help="Sequence of the first event to print.  [default: 0]",
)
@client_options
def events(client: Client, as_json: bool, run_id: str, follow: bool, mode: str, start: int) -> None:
    """Print the events of a run, one per line.

    A line has the time, the sequence, the type, the node, and the main members of the payload as name=value. With
    --json each line is the event as JSON. Open interrupts are printed on standard error with the command that answers
    them. Ctrl-C stops printing and exits with 130; it does not affect the run.
    """
    run_id = complete_run_id(client, run_id)
    if follow:
        frames = client.stream(run_id, last_event_id=str(start - 1) if start else None, streamMode=mode)
    else:
        frames = _read_events(client, run_id, mode, start)
    if as_json:
        say_lines(json_line(frame.data) for frame in frames)
        return
    # With --follow an open interrupt is printed when it is requested, otherwise after the last event.
    tree = RunProgress(run_id)
    for frame in frames:
        if is_repeat(tree, frame):
            continue
        known = {row.node_id for row in tree.waiting_nodes}
        tree.apply(frame)
        say(run_event_line(tree, frame))
        if follow and frame.event_type in INTERRUPT_EVENTS:
            for row in tree.waiting_nodes:
                if row.node_id not in known and is_still_open(client, tree, row):
                    print_node_interrupt(client.url, run_id, row)
    if not follow and tree.status not in ("completed", "failed", "cancelled"):
        for row in tree.waiting_nodes:
            # With --from the event that has the question may be skipped; the snapshot has it too.
            if "data" in (row.interrupt or {}) or is_still_open(client, tree, row):
                print_node_interrupt(client.url, run_id, row)


def _read_events(client: Client, run_id: str, mode: str, start: int) -> Iterator[Any]:
    """The events so far, read by polling, which every host supports. Applies the mode, because polling has none."""
    if mode == "values":
        yield ReceivedFrame("state.snapshot", client.get(path_for("getRun", runId=run_id)), "")
        return
    last = start - 1
    while True:
        page = client.get(path_for("pollRunEvents", runId=run_id), lastSequence=last, timeout=1)
        frames = [frame_of_document(each, "") for each in as_list(as_object(page).get("events"))]
        new = [frame for frame in frames if frame.sequence is not None and frame.sequence > last]
        for frame in new:
            last = max(last, frame.sequence or 0)
            if mode == "messages":
                if frame.event_type == "output.chunk":
                    yield ReceivedFrame(frame.event, {**frame.data, "type": "ai.message.chunk"}, frame.id)
            elif mode == "debug" or frame.event_type in UPDATE_TYPES:
                yield frame
        if not new or page.get("isComplete") is True:
            return
