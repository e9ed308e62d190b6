"""A host that starts on what a power loss left, and goes on until every run has ended."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.harness.engine_harness import CALLER, EngineHarness
from tests.power.recording_disk import RecordingDisk
from tests.power.seeded_history import STORE, Acknowledgement
from tests.power.turn_based_log import content_of
from tests.power.workflows import WORKFLOWS
from weftwork.adapters.sqlite.database import connection
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.testing.deterministic import START, ManualClock, SequentialIds

RESTART_TIME = START + 3_600_000
BOUND = 120.0


class DistinctIds(SequentialIds):
    """Ids that no host before gave."""

    def run_id(self, now: int) -> str:
        return f"later-{super().run_id(now)}"

    def event_ids(self, count: int) -> list[str]:
        return [f"later-{name}" for name in super().event_ids(count)]


def recover_and_finish(folder: Path, acks: list[Acknowledgement], vfs: str | None = None) -> None:
    """Start, let every unfinished run end, and answer callers who ask again with their key as before."""

    async def work() -> None:
        store: Any = SqliteStore(folder / STORE, vfs)
        bench = EngineHarness(store=store, clock=ManualClock(RESTART_TIME), ids=DistinctIds())
        async with asyncio.timeout(BOUND):
            await store.open()
            try:
                for document in WORKFLOWS.values():
                    assert await bench.catalog.register(document) == []
                await bench.executor.recover()
                while bench.executor.live_count:
                    if bench.clock.next_wake is not None:
                        bench.clock.advance(bench.clock.next_wake - bench.clock.now())
                    await asyncio.sleep(0.0005)
                for ack in acks:
                    if ack.key is not None:
                        outcome = await bench.service.create_run(CALLER, ack.document, ack.key)
                        assert (outcome.run_id, outcome.replayed) == (ack.run_id, True), ack
            finally:
                await bench.close()
                await store.close()

    asyncio.run(work())


def open_and_list(folder: Path, disk: RecordingDisk) -> tuple[bytes, int]:
    """Open the store: what its readers see at once, and how far the disk's log is by then."""
    sync = connection._sync

    def noted(path: Path) -> None:
        sync(path)
        disk.synced(path, folder)

    async def work() -> tuple[bytes, int]:
        store = SqliteStore(folder / STORE, disk.vfs)
        await store.open()
        try:
            return await store._readers.submit(content_of), len(disk.log)
        finally:
            await store.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "_sync", noted)
        return asyncio.run(work())
