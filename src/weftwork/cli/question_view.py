"""Telling what a run asks where no picture shows it: on standard error, so that lines of events stay lines."""

from typing import Any

from weftwork.cli.client import Client, segment
from weftwork.cli.plain import say, shown
from weftwork.cli.question import answer_lines, asked
from weftwork.cli.tree import NodeRow, RunTree
from weftwork.protocol.json_value import is_array, is_object
from weftwork.protocol.run import TERMINAL

PROMPT = 3.0
"""Seconds for the snapshot that says whether an old question is still open."""


def tell_question(url: str, run_id: str, row: NodeRow) -> None:
    """What a node asks, and a command that answers."""
    if row.asked is None:
        return
    first, *more = asked(row.asked)
    for line in (f"{shown(row.node_id, 60)} asks {first}", *more):
        say(line, err=True)
    say(f"answer with: {' '.join(answer_lines(url, run_id, row.node_id, row.asked))}", err=True)


def is_open(client: Client, tree: RunTree, row: NodeRow) -> bool:
    """Whether a question of the log has no answer yet, as far as the run's snapshot says."""
    snapshot = client.peek(f"/v1/runs/{segment(tree.run_id)}", PROMPT)
    if not is_object(snapshot):
        return True
    if snapshot.get("status") in TERMINAL:
        return False
    states = snapshot.get("nodeStates")
    state: Any = states.get(row.node_id) if is_object(states) else None
    if is_object(state) and state.get("status") not in (None, "suspended"):
        return False
    listed = snapshot.get("interrupts")
    keys = [each.get("key") for each in listed if is_object(each)] if is_array(listed) else []
    key = (row.asked or {}).get("key")
    return not keys or key is None or key in keys
