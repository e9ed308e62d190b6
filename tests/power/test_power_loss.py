"""Whenever the power goes: what was acknowledged is there, nothing is there by half, and every run goes on."""

import asyncio
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.harness.definitions import FULL
from tests.harness.engine_harness import CALLER, EngineHarness
from tests.power.disk_images import LOSS_MODES, DiskState, put_image
from tests.power.image_proof import ImageCase, ImageProof
from tests.power.recording_disk import RecordingDisk, open_disk, synced_log
from tests.power.seeded_history import STORE, Acknowledgement, Recording, record
from tests.power.turn_based_log import content_of
from tests.power.workflows import WORKFLOWS
from weftwork.adapters.sqlite.database import connection
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.protocol.run.header import TERMINAL_STATUSES
from weftwork.testing.deterministic import START, ManualClock, SequentialIds

TURNS = 60
STORIES, IMAGES = (40, 500) if FULL else (2, 100)
FAULTY, FAULTY_IMAGES = (20, 250) if FULL else (1, 80)
KILLED, KILLED_IMAGES = (10, 200) if FULL else (1, 25)
BOOTS = IMAGES // 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(STORIES))
def test_a_power_loss_takes_nothing_that_was_acknowledged(seed: int) -> None:
    proof = ImageProof(record(seed, TURNS))
    check_variety(proof.recording)
    assert proof.run(proof.sample(IMAGES)) == IMAGES
    assert boots(proof, proof.sample(IMAGES)[:BOOTS]) == BOOTS


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1000 + FAULTY))
def test_a_power_loss_around_disk_faults_takes_nothing_that_was_acknowledged(seed: int) -> None:
    proof = ImageProof(record(seed, TURNS, faulty=True))
    assert any(state.failed for state in proof.recording.states)
    assert proof.run(proof.sample(FAULTY_IMAGES)) == FAULTY_IMAGES


@pytest.mark.slow
def test_every_point_of_a_short_story() -> None:
    """From the empty folder over the first migration to a few runs."""
    proof = ImageProof(record(seed=7, turns=8))
    losses = (*LOSS_MODES, *[None] * 20) if FULL else ("none", None)
    points = range(0, len(proof.recording.log) + 1, 1 if FULL else 5)
    cases = [ImageCase(point, number, loss) for point in points for number, loss in enumerate(losses)]
    assert proof.run(cases) == len(cases) > (500 if FULL else 50)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(KILLED))
def test_what_is_seen_after_a_kill_outlives_a_power_loss(seed: int) -> None:
    """A process that was killed loses nothing it wrote, synced or not; the next one shows all of it."""
    proof = ImageProof(record(seed, TURNS))
    assert after_a_kill(proof, proof.sample(KILLED_IMAGES)) == KILLED_IMAGES


def test_a_few_power_losses() -> None:
    proof = ImageProof(record(seed=5, turns=20))
    assert proof.run(proof.sample(60)) == 60
    assert boots(proof, proof.sample(2)) == 2


def test_a_story_can_be_told_again() -> None:
    """So that a failure can be looked at."""
    first, second = (record(seed=3, turns=20, faulty=True) for _ in range(2))
    assert [op[:4] for op in first.log] == [op[:4] for op in second.log]
    assert first[4:] == second[4:]


def check_variety(recording: Recording) -> None:
    """The story has what it was made for."""
    files = {op.file: op.name for op in recording.log if op.kind == "create"}
    syncs = [files[op.file] for op in recording.log if op.kind == "sync"]
    assert syncs.count("store.db") >= 3, "the write-ahead log is hardly ever copied"
    logs = [name for name in files.values() if name.endswith("-wal")]
    begun = [op for op in recording.log if op.kind == "write" and op.at == 0 and files[op.file].endswith("-wal")]
    assert len(begun) > len(logs), "no write-ahead log is started anew"
    assert len(recording.keyed) > 10
    assert len(recording.kept) > 50, "hardly any assets are named"
    assert len({ack.status for ack in recording.acks}) >= 5, "callers hardly ever hear anything new"


def boots(proof: ImageProof, cases: list[ImageCase]) -> int:
    """Let a host go on with each image to the end of every run, then let the power go once more on its way."""

    def look(case: ImageCase, folder: Path) -> None:
        told = [ack for ack in proof.recording.acks if ack.point <= case.point]
        found = {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}
        with open_disk(synced_log(found)) as disk:
            before = len(disk.log)
            recover_and_finish(folder, told[-8:], disk.vfs)
        _, runs = proof.check_sound(folder, case.point)
        assert {status for status, _ in runs.values()} <= TERMINAL_STATUSES
        dice = Random(case.number)
        drive = DiskState(disk.log, dice)
        for point in sorted(dice.randint(before, len(disk.log)) for _ in range(3)):
            drive.advance(point)
            replace(folder, drive, dice)
            proof.check_sound(folder, case.point)

    return proof.run(cases, look)


def after_a_kill(proof: ImageProof, cases: list[ImageCase]) -> int:
    """Let the process die at each point and another one open the store; as soon as it is open, the power goes."""

    def look(case: ImageCase, folder: Path) -> None:
        before = proof.recording.log[: case.point]
        with open_disk(before) as disk:
            seen, point = open_and_list(folder, disk)
        dice = Random(case.number)
        drive = DiskState(disk.log, dice)
        drive.advance(point)
        for loss in ("none", None):
            replace(folder, drive, dice, loss)
            content, _ = proof.check_sound(folder, case.point)
            assert content == seen, "readers saw what was not durable"

    return proof.run([case._replace(loss="all") for case in cases], look)


def replace(folder: Path, drive: DiskState, dice: Random, loss: str | None = None) -> None:
    """Put an image of that drive in the place of what is in the folder."""
    for path in folder.iterdir():
        path.unlink()
    put_image(folder, drive.image(dice, loss), dice)


RESTART_TIME = START + 3_600_000
BOUND = 120.0


LATER_EPOCH = 1_000
"""Higher than the fences of a recorded story, each of which begins with 1."""


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
        bench.runtime.fence.epoch = LATER_EPOCH
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
