"""Telling what a run asks where no picture shows it: on standard error, so that lines of events stay lines."""

from datetime import UTC, datetime
from typing import Any

from weftwork.cli.client.http_client import Client, segment
from weftwork.cli.client.run_tree import TreeRun, read_tree, run_tree_path
from weftwork.cli.console.text import say, shown
from weftwork.cli.follow.run_tree_watch import ask_askers
from weftwork.cli.render.interrupt_text import answer_command, asked, standing
from weftwork.cli.render.run_progress import NodeRow, RunTree
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.run.header import TERMINAL_STATUSES

PROMPT = 3.0
"""Seconds for the snapshot that says whether an old question is still open."""


def show_question(node_id: str, question: dict[str, Any], in_parts: bool = False) -> None:
    """What a node asks, who has voted and until when there is time."""
    first, *more = asked(question, in_parts)
    for line in (f"{shown(node_id, 60)} asks {first}", *more, *standing(question, datetime.now(UTC))):
        say(line, err=True)


def tell_question(url: str, run_id: str, row: NodeRow) -> None:
    """What a node asks, and a command that answers."""
    if row.interrupt is None:
        return
    show_question(row.node_id, row.interrupt)
    say(f"answer with: {answer_command(url, run_id, row.node_id)}", err=True)


def tell_child(client: Client, child: TreeRun) -> None:
    """Which run waits, of a child and those below it, what it asks, and a command that answers."""
    top = read_tree(client.try_get(run_tree_path(child.run_id), PROMPT)) or child
    for run in ask_askers(client, top, 1)[:1]:
        at = f" at {shown(run.detail, 60)}" if run.detail else ""
        say(f"the run {shown(run.run_id, 60)} of {shown(run.workflow_id or '?', 60)} waits{at}", err=True)
        if run.interrupt is not None:
            show_question(run.detail, run.interrupt)
        say(f"answer with: {answer_command(client.url, run.run_id, run.detail)}", err=True)


def still_open(client: Client, tree: RunTree, row: NodeRow) -> bool:
    """Whether a question of the log has no answer yet, as far as the run's snapshot says.

    If so, the row has learned from the snapshot who has voted meanwhile.
    """
    snapshot = client.try_get(f"/v1/runs/{segment(tree.run_id)}", PROMPT)
    if not is_object(snapshot):
        return True
    if snapshot.get("status") in TERMINAL_STATUSES:
        return False
    states = snapshot.get("nodeStates")
    state: Any = states.get(row.node_id) if is_object(states) else None
    if is_object(state) and state.get("status") not in (None, "suspended"):
        return False
    listed = snapshot.get("interrupts")
    rows = [each for each in listed if is_object(each)] if is_array(listed) else []
    key = (row.interrupt or {}).get("key")
    if not rows or key is None:
        return True
    found = next((each for each in rows if each.get("key") == key), None)
    if found is not None and row.interrupt is not None and "votes" in found:
        row.interrupt = {**row.interrupt, "votes": found["votes"]}
    return found is not None
