"""What the events of a run say that its snapshot does not: how long nodes took, and what an answer has to look like."""

from typing import Final

from weftwork.cli.client.errors import HostUnreachable, RequestRefused
from weftwork.cli.client.event_stream import ReceivedFrame
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.run_tree import TreeRun
from weftwork.cli.console.units import format_duration
from weftwork.cli.render.run_progress import RunProgress
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.wire.v1.paths import path_for

MAX_PAGES: Final = 5
"""Of a run with more events than this many answers hold, the first ones are read."""
PAGE_SIZE: Final = 1000


def read_history(client: Client, run_id: str) -> RunProgress:
    """The run as far as its events tell; what the host does not give is left out."""
    tree = RunProgress(run_id)
    for _ in range(MAX_PAGES):
        last = tree.sequence
        try:
            page = client.get(path_for("pollRunEvents", runId=run_id), lastSequence=last, timeout=1)
        except (RequestRefused, HostUnreachable):
            break
        events = page.get("events") if is_object(page) else None
        if not is_array(events):
            break
        for event in events:
            tree.apply(ReceivedFrame("", event, ""))
        if len(events) < PAGE_SIZE or tree.sequence <= last:
            break
    return tree


def known_children(tree: RunProgress) -> list[TreeRun]:
    """The runs that it has started; none if there are more events than were read, which may tell another story."""
    return tree.children if tree.sequence + 1 < MAX_PAGES * PAGE_SIZE else []


def node_times(tree: RunProgress) -> dict[str, str]:
    """By node, for those whose last attempt is over."""
    return {
        row.node_id: format_duration(row.ended - row.started)
        for row in tree.nodes.values()
        if row.started is not None and row.ended is not None
    }
