"""Snapshots of runs that are encoded in pieces, and shared by all clients that are being sent the same state.

Used for large states, and for all streams in the mode `values`. A snapshot cannot be encoded again later, because the
run has changed by then, so it is kept until its last client has it (SharedBodies).
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Final
from weakref import WeakValueDictionary

import msgspec

from weftwork.adapters.http.shared_bodies import LargeBody, SharedBodies, SharedBody
from weftwork.engine.api.interrupts import Interrupts
from weftwork.engine.api.keyring import Principal
from weftwork.engine.api.review import EarlierRun, LookBack
from weftwork.engine.api.runs import Runs
from weftwork.protocol.json.pieces import Piece, Placeholder
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey
from weftwork.protocol.run.projection import StoredRun
from weftwork.protocol.wire import streams

MAX_CONCURRENT_SNAPSHOTS: Final = 2
"""Snapshots built at the same time. Each needs the whole state of its run in memory."""


class Snapshot(SharedBody):
    """An encoded snapshot. With `is_final`, the run has ended and no other snapshot follows."""

    __slots__ = ("is_final", "run_id", "sequence", "timestamp")

    def __init__(self, run: StoredRun, pieces: Sequence[Piece]) -> None:
        super().__init__(pieces)
        self.run_id = run.header.run_id
        self.sequence = run.projection.last_sequence
        self.is_final = run.projection.status in TERMINAL_STATUSES
        self.timestamp: int | None = None
        """That of the event `sequence`, if it is known."""

    def frame(self) -> Iterator[bytes | memoryview]:
        """sse-09: the frame of a stream, from a snapshot whose timestamp is known."""
        assert self.timestamp is not None, "`SnapshotCache.newest` has set it"
        return streams.snapshot_frame(self.run_id, self.pieces, self.sequence, self.timestamp)


class SnapshotCache:
    """The snapshots that are being sent, by run, sequence and status of the child runs."""

    def __init__(self, service: Runs, interrupts: Interrupts, bodies: SharedBodies) -> None:
        self._runs = service
        self._interrupts = interrupts
        self._bodies = bodies
        self._build_slots = asyncio.Semaphore(MAX_CONCURRENT_SNAPSHOTS)
        self._locks: WeakValueDictionary[RunKey, asyncio.Lock] = WeakValueDictionary()

    def may_wait(self) -> bool:
        return self._bodies.may_wait()

    async def document(self, caller: Principal, run_id: str) -> LargeBody:
        """tok-05: the current snapshot of a run, with the tokens that the caller may have."""
        snapshot = await self._current(caller, run_id)

        def insert(place: Placeholder) -> bytes:
            return self._interrupts.token_members(caller, run_id, place.value)

        return LargeBody(snapshot, self._bodies.may_wait, insert)

    async def earlier(self, look_back: LookBack, earlier: EarlierRun) -> LargeBody:
        """look-01: the snapshot of an earlier state, without tokens."""
        async with self._build_slots:
            snapshot = Snapshot(earlier.run, await look_back.pieces(earlier))
        # Not shared, but counted as long as it is being sent.
        return LargeBody(self._bodies.add(id(snapshot), snapshot), self._bodies.may_wait)

    async def newest(self, caller: Principal, run_id: str, sequence: int = -1, timestamp: int = 0) -> Snapshot:
        """The current state of a run that has events, for a stream.

        `timestamp` is that of the event `sequence`; if this is the newest event, its timestamp is not read again.
        """
        snapshot = await self._current(caller, run_id)
        if snapshot.timestamp is None:
            at = snapshot.sequence
            known = sequence == at
            snapshot.timestamp = timestamp if known else (await self._runs.get_event(caller, run_id, at)).timestamp
        return snapshot

    async def _current(self, caller: Principal, run_id: str) -> Snapshot:
        run = caller.run(run_id)
        # One at a time, so that all clients of a run wait for the same snapshot.
        lock = self._locks.get(run)
        if lock is None:
            lock = self._locks[run] = asyncio.Lock()
        async with lock, self._build_slots:
            projection = await self._runs.projection(caller, run_id)
            children = await self._runs.child_members(caller, run_id)
            pending = self._bodies.get(_key(run, projection.last_sequence, children))
            if isinstance(pending, Snapshot):
                return pending
            stored = await self._runs.read_run(caller, run_id)
            snapshot = Snapshot(stored, await self._runs.snapshot_pieces(stored, children))
            return self._bodies.add(_key(run, snapshot.sequence, children), snapshot)


def _key(run: RunKey, sequence: int, children: dict[str, Any]) -> object:
    return Snapshot, run, sequence, msgspec.json.encode(children)
