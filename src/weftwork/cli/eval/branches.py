"""Branches: forks of recorded runs, created and followed in a bounded number of threads.

A request that the host refuses because it is busy is repeated with the same idempotency key, so that no run is forked
twice. Only the thread that reads the queue `changes` prints and computes scores. A branch is put into it once, when it
has settled: its thread does not change it after that.
"""

import threading
import time
from collections.abc import Sequence
from queue import Empty, Queue, SimpleQueue
from secrets import token_urlsafe
from typing import Any, Final

import msgspec

from weftwork.cli.client.errors import DeadlineReached, RequestRefused
from weftwork.cli.client.event_stream import is_terminal_status
from weftwork.cli.client.http_client import Client
from weftwork.cli.console.documents import as_object, as_text
from weftwork.cli.eval.sources import Source
from weftwork.cli.eval.usage import LogPart, Usage, usage_of_children
from weftwork.cli.eval.variants import Variant
from weftwork.cli.follow.follow_run import SETTLE_SECONDS, debug_frames
from weftwork.cli.forks.fork import request_fork
from weftwork.cli.render.run_progress import RunProgress
from weftwork.protocol.run.header import WAITING_STATUSES
from weftwork.protocol.wire.v1.paths import path_for

BUSY_STATUSES: Final = (429, 503)
BUSY_SECONDS: Final = 600.0
"""How long a fork is requested again from a host that is busy."""
BUSY_DELAY: Final = 1.0
"""Seconds before the next request if the host does not say when."""
FOLLOW_DELAY: Final = 1.0
"""Seconds before a fork is followed again if its stream has ended and the host still shows it as active."""
FATAL_STATUSES: Final = (401, 403)
"""Refusals that every later request would get too."""


class Branch(msgspec.Struct, eq=False):
    """A fork of one source with one variant, as far as it is known."""

    source: Source
    variant: Variant
    run_id: str = ""
    status: str = "not-started"
    """The status of the fork. `not-started`: before it is created; `refused`: the host refused to create or show it."""
    snapshot: dict[str, Any] = {}
    error: dict[str, Any] = {}
    usage: Usage = msgspec.field(default_factory=Usage)
    duration_ms: float | None = None
    is_waiting: bool = False
    """Whether the fork, or a child run that it waits for, waits for an answer or is paused."""
    is_timed_out: bool = False


class Note(msgspec.Struct, frozen=True):
    """A line about an event during a request, such as a lost connection."""

    text: str


class Fault(msgspec.Struct, frozen=True):
    """The evaluation cannot continue."""

    error: Exception


class BranchRunner:
    """Creates and follows branches in the background. Read `changes` until it has had each branch, or a fault."""

    def __init__(self, client: Client, branches: Sequence[Branch], tag: str, timeout: float | None) -> None:
        self.changes: Queue[Branch | Note | Fault] = Queue()
        """Has each branch once, after it has ended, waits, has timed out or was refused."""
        self._client = client
        self._tag = tag
        self._timeout = timeout
        self._rest: SimpleQueue[Branch] = SimpleQueue()
        self._stopped = threading.Event()
        for each in branches:
            self._rest.put(each)

    def start(self, threads: int) -> None:
        for _ in range(threads):
            # Daemons, so that Ctrl-C does not wait for a stream.
            threading.Thread(target=self._work, daemon=True).start()

    def stop(self) -> None:
        """Start no further branches. Those that are followed are left as they are."""
        self._stopped.set()

    def _work(self) -> None:
        client = self._client.copy()
        client.notify = lambda text: self.changes.put(Note(text))
        while not self._stopped.is_set():
            try:
                branch = self._rest.get_nowait()
            except Empty:
                return
            try:
                self._run(client, branch)
            except RequestRefused as refused:
                if refused.status in FATAL_STATUSES:
                    self.changes.put(Fault(refused))
                    return
                branch.status, branch.error = "refused", {"code": refused.code, "message": refused.message}
            except Exception as error:
                # Also errors that nothing foresees: without this, the evaluation would wait for the branch forever.
                self.changes.put(Fault(error))
                return
            self.changes.put(branch)

    def _run(self, client: Client, branch: Branch) -> None:
        client.deadline = None
        body = {
            "mode": "branch",
            "fromSeq": branch.source.point.from_seq,
            "runOptionsOverlay": branch.variant.overlay(branch.source.snapshot, self._tag),
        }
        branch.run_id = self._create(client, branch.source.run_id, body)["runId"]
        branch.status = "running"
        part = LogPart(branch.source.point.from_seq)
        branch.usage = part.usage
        self._follow(client, branch, part)
        client.deadline = None
        branch.duration_ms = part.duration_ms
        branch.usage.add(usage_of_children(client, part.children))

    def _create(self, client: Client, run_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to the request for a fork, which is repeated while the host is busy."""
        key, end = token_urlsafe(24), time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return request_fork(client, "forkRun", run_id, body, key)
            except RequestRefused as refused:
                wait = BUSY_DELAY if refused.retry_after is None else refused.retry_after
                if refused.status not in BUSY_STATUSES or time.monotonic() + wait > end or self._stopped.is_set():
                    raise
                client.notify(f"the host is busy; the next fork is requested in {wait:g} s")
                self._stopped.wait(wait)

    def _follow(self, client: Client, branch: Branch, part: LogPart) -> None:
        """Follow the branch until it has ended or waits, or until the timeout."""
        progress = RunProgress(branch.run_id)
        end = None if self._timeout is None else time.monotonic() + self._timeout
        while True:
            stream_ended = False
            client.deadline = end
            last_event = str(progress.sequence) if progress.sequence >= 0 else None
            try:
                for frame in debug_frames(client, branch.run_id, last_event):
                    progress.apply(frame)
                    part.add(frame)
                    # Other nodes may start right after this event, so the run counts as blocked only after a pause.
                    settled = time.monotonic() + SETTLE_SECONDS
                    client.deadline = min(settled, end or settled) if progress.is_blocked else end
                stream_ended = True
            except DeadlineReached:
                pass
            client.deadline = None
            self._update(client, branch)
            if is_terminal_status(branch.status):
                return
            is_open = branch.status in WAITING_STATUSES or branch.status == "paused" or progress.has_waiting_child
            branch.is_waiting = progress.is_blocked and is_open
            branch.is_timed_out = end is not None and time.monotonic() >= end
            if branch.is_waiting or branch.is_timed_out:
                return
            # Only the snapshot has the outputs, and some hosts show an end in it later than in the stream.
            if stream_ended and self._stopped.wait(FOLLOW_DELAY):
                return

    @staticmethod
    def _update(client: Client, branch: Branch) -> None:
        branch.snapshot = as_object(client.get(path_for("getRun", runId=branch.run_id)))
        branch.status = as_text(branch.snapshot.get("status"))
        branch.error = as_object(branch.snapshot.get("error"))
