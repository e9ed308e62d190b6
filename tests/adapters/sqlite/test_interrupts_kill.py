"""A process that is killed leaves the lists of who waits as the logs of the runs say."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.storage.run_queries import OpenInterrupt
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import RunKey
from weftwork.testing.storage.harness import prove
from weftwork.testing.storage.run_queries import interrupt, list_all, open_interrupt, resolved_interrupt
from weftwork.testing.storage.samples import ACME, NOW, batch

KILLED = """
import asyncio, os, signal, sys
from weftwork.adapters.sqlite import transactions
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.fault_points import arm
from tests.adapters.sqlite.test_interrupts_kill import RUNS, step
from weftwork.testing.storage.samples import make_run

async def work(path, name, times, late):
    store = SqliteStore(path)
    await store.open()
    runs = [await make_run(store, run.run_id) for run in RUNS]
    arm({(name, times): lambda: os.kill(os.getpid(), signal.SIGKILL)})
    later = {run_no: [] for run_no in (1, 2, 3)}
    if late:
        real, transactions.set_open = transactions.set_open, lambda _, run_no, row: later[run_no].append(row)

    async def one(run_no, run):
        for number in range(200):
            await store.log.append(run, number - 1, step(run, number))
            while len(later[run_no]) > 1:
                row = later[run_no].pop(0)
                await store._writer.submit(lambda connection: real(connection, run_no, row))
            print(run.run_id, number, flush=True)

    await asyncio.gather(*(one(run_no, run) for run_no, run in enumerate(runs, 1)))

asyncio.run(work(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:] == ["late"]))
"""
RUNS = [RunKey(ACME, f"run-{number}") for number in range(3)]


def step(run: RunKey, number: int) -> Batch:
    """What the n-th append to a run writes: a question, a vote on it, its answer; it is parked every other time."""
    name = f"i{number // 3}"
    asked = replace(interrupt(name, number), value=b"%d" % number)
    made = batch(run, number - 1, 1, "waiting-approval", (resolved_interrupt(name) if number % 3 == 2 else asked,))
    return replace(made, projection=replace(made.projection, parked=number % 2 == 0, wake_at=NOW + number))


def kill(path: Path, *arguments: str) -> dict[str, int]:
    """Let a process write until it is killed at a point; the last number that each run was told of."""
    line = [sys.executable, "-c", KILLED, str(path), *arguments]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return {run_id: int(number) for run_id, number in (text.split() for text in done.stdout.splitlines())}


def check_left(path: Path, told: dict[str, int]) -> None:
    """Each run stands at one of its appends, told ones included, and so do the lists."""

    async def check(store: SqliteStore) -> None:
        open_now: list[OpenInterrupt] = []
        waking_at: list[tuple[int, RunKey]] = []
        for run in RUNS:
            found = await store.log.projection(run)
            assert found is not None
            last = found.last_sequence
            assert last >= told.get(run.run_id, -1)
            if last >= 0:
                made = step(run, last)
                assert found == made.projection
                open_now += [open_interrupt(run, row) for row in made.rows if row.listing is not None]
                if found.parked:
                    waking_at.append((NOW + last, run))
        assert sorted(await list_all(store), key=repr) == sorted(open_now, key=repr)
        waking_at.sort(key=lambda each: each[0])
        assert await store.queries.due_runs(NOW + 1000, 10) == [run for _, run in waking_at]
        assert await store.queries.next_wake() == (waking_at[0][0] if waking_at else None)
        awake = [run for run in RUNS if run not in {parked for _, parked in waking_at}]
        assert await store.queries.unfinished_runs(None, 10) == awake

    prove(SqliteStore(path), check)


@pytest.mark.parametrize("times", [1, 7, 33])
@pytest.mark.parametrize(
    "name", ["append.begin", "writer.begin", "writer.commit", "writer.committed", "append.durable"]
)
def test_a_killed_process_leaves_the_lists_as_its_logs(tmp_path: Path, name: str, times: int) -> None:
    check_left(tmp_path / "store.db", kill(tmp_path / "store.db", name, str(times)))


def test_lists_that_are_written_later_are_seen(tmp_path: Path) -> None:
    """The sabotage of the test above: an index in a transaction of its own, after the next append."""
    told = kill(tmp_path / "store.db", "writer.committed", "7", "late")
    with pytest.raises(AssertionError):
        check_left(tmp_path / "store.db", told)
