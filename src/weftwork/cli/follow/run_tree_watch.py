"""Threads that watch a run and its child runs in the background, and the interrupts of the child runs.

What a child run asks is only in its own snapshot, so each one that waits is asked for it.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Self

from weftwork.cli.client.errors import DeadlineReached, HostUnreachable, RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.listing import open_interrupts
from weftwork.cli.client.run_tree import (
    MAX_LISTED_INTERRUPTS,
    TreeRun,
    find_waiting_runs,
    read_tree,
    run_tree_path,
    update_statuses,
)
from weftwork.cli.console.documents import as_object
from weftwork.protocol.wire.v1.paths import path_for


def load_interrupts(client: Client, top: TreeRun, most: int = MAX_LISTED_INTERRUPTS) -> list[TreeRun]:
    """The runs that ask something, in the order of the tree; the first ones with what they ask, if the host tells."""
    found = find_waiting_runs(top)
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
    """Something that goes on until `stop`; it is not waited for when the program ends."""

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
        self._path = f"{run_tree_path(run_id)}?limit={MAX_RUNS}"
        self._on_tree = take

    def notify_change(self) -> None:
        """There is news of children; the first time it begins to look."""
        if self.ident is None:
            self.start()
        self.changed.set()

    def run(self) -> None:
        tries = _MAX_FAILURES
        while not self._stopped.is_set():
            top = read_tree(self._client.try_get(self._path, TREE_TIMEOUT))
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
        document = client.try_get(f"{run_tree_path(run_id)}?limit={MAX_RUNS}", TREE_TIMEOUT)
        update_statuses(children, document)
        if document is None or time.monotonic() > end:
            return
        time.sleep(_POLL_SECONDS)
