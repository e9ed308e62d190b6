"""What a host says of a run that is followed: its child runs, what they and the run itself ask, and its past events.

Threads watch in the background. What a child run asks is only in its own snapshot, so each one that waits is asked for
it. Interrupts are told on standard error where no picture shows them, so that lines of events stay lines. Events say
what a snapshot does not: how long nodes took, and what an answer has to look like.
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


def load_interrupts(client: Client, top: TreeRun, most: int = run_tree.MAX_LISTED_INTERRUPTS) -> list[TreeRun]:
    """The runs that ask something, in the order of the tree; the first ones with what they ask, if the host tells."""
    found = run_tree.find_waiting_runs(top)
    for run in found[:most]:
        snapshot = client.try_get(path_for("getRun", runId=run.run_id))
        rows = open_interrupts(as_object(snapshot))
        run.interrupt = next((row for row in rows if row["nodeId"] == run.detail), rows[0] if rows else None)
        if run.interrupt is not None:
            run.detail = run.interrupt["nodeId"]
    return found


MAX_INTERVAL: Final = 1.0
"""Seconds between two looks while nothing is heard of the run itself."""
MIN_INTERVAL: Final = 0.25
"""Seconds at least."""
TREE_TIMEOUT: Final = 5.0
MAX_RUNS: Final = 1000
"""Runs of a tree that are asked for."""
END_GRACE_SECONDS: Final = 1.0
"""Seconds that runs below get to end after the run itself has."""
_POLL_SECONDS: Final = 0.05
_MAX_FAILURES: Final = 3
"""Looks in vain after which there is nothing to be seen here: most hosts have no such tree."""


class BackgroundThread(threading.Thread):
    """A background task that runs until `stop`. The program does not wait for it at exit."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.changed = threading.Event()
        """Set when there may be something to see."""
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
        """Until there is news, and not too short a time."""
        self._stopped.wait(MIN_INTERVAL)
        self.changed.wait(MAX_INTERVAL - MIN_INTERVAL)
        self.changed.clear()


class RunTreeWatch(BackgroundThread):
    """Gives the tree to `take` each time that it has looked, with what runs ask, in a thread of its own."""

    def __init__(self, client: Client, run_id: str, take: Callable[[TreeRun], None]) -> None:
        super().__init__()
        self._client = client
        self._path = f"{run_tree.run_tree_path(run_id)}?limit={MAX_RUNS}"
        self._on_tree = take

    def notify_change(self) -> None:
        """There is news of children; the first time it begins to look."""
        if self.ident is None:
            self.start()
        self.changed.set()

    def run(self) -> None:
        tries = _MAX_FAILURES
        while not self._stopped.is_set():
            top = run_tree.read_tree(self._client.try_get(self._path, TREE_TIMEOUT))
            if top is not None:
                tries = _MAX_FAILURES
                load_interrupts(self._client, top)
                self._on_tree(top)
            else:
                tries -= 1
                if not tries:
                    return
            self.wait_for_change()


class RunEventsWatch(BackgroundThread):
    """Hears the events of a run, so that others look when something happens and know when it is over."""

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
    """Learn how these children of a run end, for a short time at most: a run that is over hears nothing more of them.

    For no time at all with a host that does not tell.
    """
    end = time.monotonic() + END_GRACE_SECONDS
    while any(not child.is_terminal for child in children):
        document = client.try_get(f"{run_tree.run_tree_path(run_id)}?limit={MAX_RUNS}", TREE_TIMEOUT)
        run_tree.update_statuses(children, document)
        if document is None or time.monotonic() > end:
            return
        time.sleep(_POLL_SECONDS)


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
    top = run_tree.read_tree(client.try_get(run_tree.run_tree_path(child.run_id))) or child
    for run in load_interrupts(client, top, 1)[:1]:
        at = f" at {clean(run.detail, 60)}" if run.detail else ""
        say(f"the run {clean(run.run_id, 60)} of {clean(run.workflow_id or '?', 60)} waits{at}", err=True)
        if run.interrupt is not None:
            print_interrupt(run.detail, run.interrupt)
        say(f"answer with: {answer_command(client.url, run.run_id, run.detail)}", err=True)


def is_still_open(client: Client, tree: RunProgress, row: NodeProgress) -> bool:
    """Whether a question of the log has no answer yet, as far as the run's snapshot says.

    If so, the row now has the votes of the snapshot.
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
