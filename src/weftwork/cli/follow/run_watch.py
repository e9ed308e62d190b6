"""Lookups while a run is followed: its child runs, the open interrupts of the run and its children, its past events.

Watches run in background threads. The open interrupt of a child run is only in the child's own snapshot, so each
waiting child is fetched. Without a live display, interrupts are printed on standard error, so that standard output has
only event lines. Past events have what a snapshot lacks: the durations of nodes and the schema of an answer.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Self

from weftwork.cli.client import run_tree
from weftwork.cli.client.errors import DeadlineReached, HostUnreachable, RequestRefused
from weftwork.cli.client.event_stream import ReceivedFrame
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.listing import open_interrupts
from weftwork.cli.client.run_tree import TreeRun
from weftwork.cli.console.documents import as_object, objects
from weftwork.cli.console.text import clean, say
from weftwork.cli.console.units import format_duration
from weftwork.cli.render.interrupt_text import answer_command, question_lines
from weftwork.cli.render.run_progress import NodeProgress, RunProgress
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.run.header import TERMINAL_STATUSES
from weftwork.protocol.wire.v1.paths import path_for


def load_interrupts(client: Client, top: TreeRun, limit: int = run_tree.MAX_LISTED_INTERRUPTS) -> list[TreeRun]:
    """The waiting runs in the order of the tree; the first `limit` of them with their open interrupt, if available."""
    waiting = run_tree.find_waiting_runs(top)
    for run in waiting[:limit]:
        snapshot = client.try_get(path_for("getRun", runId=run.run_id))
        rows = open_interrupts(as_object(snapshot))
        run.interrupt = next((row for row in rows if row["nodeId"] == run.detail), rows[0] if rows else None)
        if run.interrupt is not None:
            run.detail = run.interrupt["nodeId"]
    return waiting


MAX_INTERVAL: Final = 1.0
"""Maximum seconds between two lookups if there is no event."""
MIN_INTERVAL: Final = 0.25
"""Minimum seconds between two lookups."""
TREE_TIMEOUT: Final = 5.0
MAX_RUNS: Final = 1000
"""Maximum number of runs requested of a tree."""
END_GRACE_SECONDS: Final = 1.0
"""Seconds to wait for child runs to end after the run itself has ended."""
_POLL_SECONDS: Final = 0.05
_MAX_FAILURES: Final = 3
"""Failed lookups after which the watch stops: only weftwork hosts have run trees."""


class BackgroundThread(threading.Thread):
    """A background task that runs until `stop`. The program does not wait for it at exit."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.changed = threading.Event()
        """Set when something may have changed."""
        self._stopped = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()

    def stop(self) -> None:
        self._stopped.set()
        self.changed.set()

    def wait_for_change(self) -> None:
        """Wait for a change, at least MIN_INTERVAL and at most MAX_INTERVAL."""
        self._stopped.wait(MIN_INTERVAL)
        self.changed.wait(MAX_INTERVAL - MIN_INTERVAL)
        self.changed.clear()


class RunTreeWatch(BackgroundThread):
    """Calls `on_tree`, from its own thread, with the tree and its open interrupts after each lookup."""

    def __init__(self, client: Client, run_id: str, on_tree: Callable[[TreeRun], None]) -> None:
        super().__init__()
        self._client = client
        self._path = f"{run_tree.run_tree_path(run_id)}?limit={MAX_RUNS}"
        self._on_tree = on_tree

    def notify_change(self) -> None:
        """Trigger a lookup; the first call starts the thread."""
        if self.ident is None:
            self.start()
        self.changed.set()

    def run(self) -> None:
        attempts_left = _MAX_FAILURES
        while not self._stopped.is_set():
            top = run_tree.read_tree(self._client.try_get(self._path, TREE_TIMEOUT))
            if top is not None:
                attempts_left = _MAX_FAILURES
                load_interrupts(self._client, top)
                self._on_tree(top)
            else:
                attempts_left -= 1
                if not attempts_left:
                    return
            self.wait_for_change()


class RunEventsWatch(BackgroundThread):
    """Reads the events of a run in the background: sets `changed` at each event and `is_finished` at the end."""

    def __init__(self, client: Client, run_id: str) -> None:
        super().__init__()
        self._frames = client.stream(run_id)
        self.is_finished = False
        self.error: RequestRefused | HostUnreachable | None = None

    def run(self) -> None:
        try:
            for _ in self._frames:
                self.changed.set()
                if self._stopped.is_set():
                    return
        except (RequestRefused, HostUnreachable) as error:
            self.error = error
        except DeadlineReached:
            pass
        self.is_finished = True
        self.changed.set()


def await_child_ends(client: Client, run_id: str, children: Sequence[TreeRun]) -> None:
    """Poll the tree until these children have ended, for at most END_GRACE_SECONDS: an ended run gets no more events of
    its children. Returns at once if the host has no run trees."""
    end = time.monotonic() + END_GRACE_SECONDS
    while any(not child.is_terminal for child in children):
        document = client.try_get(f"{run_tree.run_tree_path(run_id)}?limit={MAX_RUNS}", TREE_TIMEOUT)
        run_tree.update_statuses(children, document)
        if document is None or time.monotonic() > end:
            return
        time.sleep(_POLL_SECONDS)


def print_interrupt(node_id: str, interrupt: dict[str, Any], in_parts: bool = False) -> None:
    """Print the question of an interrupt, its votes and its deadline."""
    for line in question_lines(f"{clean(node_id, 60)} requests", interrupt, in_parts):
        say(line, err=True)


def print_node_interrupt(url: str, run_id: str, row: NodeProgress) -> None:
    """Print the open interrupt of a node and the command that answers it."""
    if row.interrupt is None:
        return
    print_interrupt(row.node_id, row.interrupt)
    say(f"answer with: {answer_command(url, run_id, row.node_id)}", err=True)


def print_child_interrupt(client: Client, child: TreeRun) -> None:
    """Print the first open interrupt of a child run or of its descendants, and the command that answers it."""
    top = run_tree.read_tree(client.try_get(run_tree.run_tree_path(child.run_id))) or child
    for run in load_interrupts(client, top, 1)[:1]:
        at = f" at {clean(run.detail, 60)}" if run.detail else ""
        say(f"child run {clean(run.run_id, 60)} ({clean(run.workflow_id or '?', 60)}) waits{at}", err=True)
        if run.interrupt is not None:
            print_interrupt(run.detail, run.interrupt)
        say(f"answer with: {answer_command(client.url, run.run_id, run.detail)}", err=True)


def is_still_open(client: Client, tree: RunProgress, row: NodeProgress) -> bool:
    """Whether an interrupt of the log is still open according to the run's snapshot; True if that is not known.

    If so, `row.interrupt` gets the votes of the snapshot, and the members that no event had.
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
    current = next((each for each in rows if each.get("key") == key), None)
    if current is not None and row.interrupt is not None:
        votes = {"votes": current["votes"]} if "votes" in current else {}
        row.interrupt = {**current, **row.interrupt, **votes}
    return current is not None


MAX_PAGES: Final = 5
"""Maximum number of pages of events that are read; later events are ignored."""
PAGE_SIZE: Final = 1000


def read_history(client: Client, run_id: str) -> RunProgress:
    """The progress of the run according to its first MAX_PAGES pages of events; incomplete if a request fails."""
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
    """The child runs according to the events; none if later events were not read, since statuses may be outdated."""
    return tree.children if tree.sequence + 1 < MAX_PAGES * PAGE_SIZE else []


def node_times(tree: RunProgress) -> dict[str, str]:
    """The duration of each node that has ended, by node id, in the order in which the nodes first appear in the log."""
    return {
        row.node_id: format_duration(row.ended - row.started)
        for row in tree.nodes.values()
        if row.started is not None and row.ended is not None
    }
