"""Snapshots on their way to readers: made once for all who are sent the same, and kept no longer than that takes."""

import asyncio
from typing import Final
from weakref import WeakValueDictionary

from weftwork.engine.principal import Principal
from weftwork.engine.service import Service
from weftwork.protocol.run import TERMINAL, RunKey
from weftwork.protocol.streams import snapshot_frame

MADE: Final = 4
"""Snapshots made at the same time; each needs the whole state of its run."""
MOST_BYTES: Final = 64 * 2**20
"""What snapshots may weigh together for which clients are slow to make room."""


class Snapshot:
    """The frame of a snapshot. `last` says that the run was over."""

    __slots__ = ("__weakref__", "body", "last", "sequence")

    def __init__(self, body: bytes, sequence: int, last: bool) -> None:
        self.body = body
        self.sequence = sequence
        self.last = last


class Snapshots:
    """Those that somebody is being sent, by run and sequence."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._turns = asyncio.Semaphore(MADE)
        self._sent: WeakValueDictionary[tuple[RunKey, int], Snapshot] = WeakValueDictionary()

    @property
    def heavy(self) -> bool:
        """There are so many that no more may be waited for."""
        return sum([len(kept.body) for kept in self._sent.values()]) > MOST_BYTES

    async def newest(self, caller: Principal, run_id: str, known: int = -1, timestamp: int = 0) -> Snapshot:
        """sse-09: how a run with events stands now. The time of one event of it may be known already."""
        async with self._turns:
            run = caller.run(run_id)
            standing = await self._service.projection(caller, run_id)
            kept = self._sent.get((run, standing.last_sequence))
            if kept is not None:
                return kept
            stored = await self._service.stored(caller, run_id)
            last = stored.projection.last_sequence
            if known != last:
                timestamp = (await self._service.get_event(caller, run_id, last)).timestamp
            body = snapshot_frame(await self._service.shown(stored), last, timestamp).encode()
            kept = self._sent[run, last] = Snapshot(body, last, stored.projection.status in TERMINAL)
            return kept
