"""Telling what a run asks where no picture shows it: on standard error, so that lines of events stay lines."""

from typing import Any

from weftwork.cli.client.http_client import Client
from weftwork.cli.client.run_tree import TreeRun, read_tree, run_tree_path
from weftwork.cli.console.documents import as_object, objects
from weftwork.cli.console.text import clean, say
from weftwork.cli.follow.run_tree_watch import load_interrupts
from weftwork.cli.render.interrupt_text import answer_command, question_lines
from weftwork.cli.render.run_progress import NodeProgress, RunProgress
from weftwork.protocol.json.values import is_object
from weftwork.protocol.run.header import TERMINAL_STATUSES
from weftwork.protocol.wire.v1.paths import path_for


def print_interrupt(node_id: str, question: dict[str, Any], in_parts: bool = False) -> None:
    """What a node asks, who has voted and until when there is time."""
    for line in question_lines(f"{clean(node_id, 60)} asks", question, in_parts):
        say(line, err=True)


def print_node_interrupt(url: str, run_id: str, row: NodeProgress) -> None:
    """What a node asks, and a command that answers."""
    if row.interrupt is None:
        return
    print_interrupt(row.node_id, row.interrupt)
    say(f"answer with: {answer_command(url, run_id, row.node_id)}", err=True)


def print_child_interrupt(client: Client, child: TreeRun) -> None:
    """Which run waits, of a child and those below it, what it asks, and a command that answers."""
    top = read_tree(client.try_get(run_tree_path(child.run_id))) or child
    for run in load_interrupts(client, top, 1)[:1]:
        at = f" at {clean(run.detail, 60)}" if run.detail else ""
        say(f"the run {clean(run.run_id, 60)} of {clean(run.workflow_id or '?', 60)} waits{at}", err=True)
        if run.interrupt is not None:
            print_interrupt(run.detail, run.interrupt)
        say(f"answer with: {answer_command(client.url, run.run_id, run.detail)}", err=True)


def is_still_open(client: Client, tree: RunProgress, row: NodeProgress) -> bool:
    """Whether a question of the log has no answer yet, as far as the run's snapshot says.

    If so, the row has learned from the snapshot who has voted meanwhile.
    """
    snapshot = client.try_get(path_for("getRun", runId=tree.run_id))
    if not is_object(snapshot):
        return True
    if snapshot.get("status") in TERMINAL_STATUSES:
        return False
    state = as_object(as_object(snapshot.get("nodeStates")).get(row.node_id))
    if state.get("status") not in (None, "suspended"):
        return False
    rows = objects(snapshot.get("interrupts"))
    key = (row.interrupt or {}).get("key")
    if not rows or key is None:
        return True
    found = next((each for each in rows if each.get("key") == key), None)
    if found is not None and row.interrupt is not None and "votes" in found:
        row.interrupt = {**row.interrupt, "votes": found["votes"]}
    return found is not None
