"""How long the nodes of a run took, which its snapshot does not say and its events do."""

from typing import Final

from weftwork.cli.client import Client, Refused, Unreachable, segment
from weftwork.cli.elapsed import spell
from weftwork.cli.sse import Frame
from weftwork.cli.tree import RunTree
from weftwork.protocol.json_value import is_array, is_object

PAGES: Final = 5
"""A run with more events than this many answers hold is shown without some of its times."""
FULL: Final = 1000


def node_times(client: Client, run_id: str) -> dict[str, str]:
    """By node, for those whose last attempt is over; what the host does not give is left out."""
    tree = RunTree(run_id)
    for _ in range(PAGES):
        last = tree.sequence
        try:
            page = client.get(f"/v1/runs/{segment(run_id)}/events/poll", lastSequence=last, timeout=1)
        except (Refused, Unreachable):
            break
        events = page.get("events") if is_object(page) else None
        if not is_array(events):
            break
        for event in events:
            tree.apply(Frame("", event, ""))
        if len(events) < FULL or tree.sequence <= last:
            break
    return {
        row.node_id: spell(row.ended - row.started)
        for row in tree.nodes.values()
        if row.started is not None and row.ended is not None
    }
