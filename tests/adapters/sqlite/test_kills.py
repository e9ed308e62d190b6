"""A process that is killed leaves the lists of who waits, and families, as the logs of the runs say."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.storage.child_runs import PendingCancelRequest, PendingChildResult
from weftwork.ports.storage.run_queries import OpenInterrupt
from weftwork.protocol.run.batch import Batch, CancelRequest
from weftwork.protocol.run.header import RunKey
from weftwork.testing.storage.child_runs import child, result_batch
from weftwork.testing.storage.harness import ACME, prove
from weftwork.testing.storage.run_queries import interrupt, list_all, open_interrupt, resolved_interrupt
from weftwork.testing.storage.samples import NOW, batch

KILLED_WAITING = """
import asyncio, os, signal, sys
from weftwork.adapters.sqlite import transactions
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.fault_points import arm
from tests.adapters.sqlite.test_kills import RUNS, step_of_waiting as step
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


def step_of_waiting(run: RunKey, number: int) -> Batch:
    """What the n-th append to a run writes: a question, a vote on it, its answer; it is parked every other time."""
    name = f"i{number // 3}"
    asked = replace(interrupt(name, number), value=b"%d" % number)
    made = batch(run, number - 1, 1, "waiting-approval", (resolved_interrupt(name) if number % 3 == 2 else asked,))
    return replace(made, projection=replace(made.projection, parked=number % 2 == 0, wake_at=NOW + number))


def kill(program: str, path: Path, *arguments: str) -> dict[str, int]:
    """Let a process write until it is killed at a point; the last number that each run (or parent) was told of."""
    line = [sys.executable, "-c", program, str(path), *arguments]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return {run_id: int(number) for run_id, number in (text.split() for text in done.stdout.splitlines())}


def check_waiting(path: Path, told: dict[str, int]) -> None:
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
                made = step_of_waiting(run, last)
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


KILLED_FAMILIES = """
import asyncio, os, signal, sys
from weftwork.adapters.sqlite import transactions
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.fault_points import arm
from weftwork.testing.storage.samples import make_run
from weftwork.testing.storage.child_runs import result_batch
from tests.adapters.sqlite.test_kills import PARENTS, born, step_of_family as step

async def work(path, name, times, late):
    store = SqliteStore(path)
    await store.open()
    parents = [await make_run(store, parent.run_id) for parent in PARENTS]
    arm({(name, times): lambda: os.kill(os.getpid(), signal.SIGKILL)})
    later = []
    if late:
        real, transactions.insert_children = transactions.insert_children, lambda _, *rest: later.append(rest)

    async def one(parent):
        for number in range(200):
            await store.log.append(parent, number - 1, step(parent, number))
            while late and later:
                rest = later.pop(0)
                await store._writer.submit(lambda connection: real(connection, *rest))
            print(parent.run_id, number, flush=True)
            child = born(parent, number)
            for expected in range(-1, number % 3):
                await store.log.append(child, expected, result_batch(child, expected))

    await asyncio.gather(*map(one, parents[:1] if late else parents))

asyncio.run(work(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:] == ["late"]))
"""
PARENTS = [RunKey(ACME, f"run-{number}") for number in range(3)]


def born(parent: RunKey, number: int) -> RunKey:
    return RunKey(ACME, f"{parent.run_id}-{number}")


def step_of_family(parent: RunKey, number: int) -> Batch:
    """What the n-th append to a parent writes: one more child, and an order for the one before."""
    made = replace(batch(parent, number - 1), child_creates=(child(parent, born(parent, number).run_id),))
    return replace(made, cancel_requests=(CancelRequest(born(parent, number - 1).run_id, "why"),))


def check_families(path: Path, told: dict[str, int]) -> None:
    """Each parent stands at one of its appends, told ones included, with the children and orders of these."""

    async def check(store: SqliteStore) -> None:
        news: list[PendingChildResult] = []
        ordered: list[PendingCancelRequest] = []
        for parent in PARENTS:
            found = await store.log.projection(parent)
            assert found is not None
            last = found.last_sequence
            assert last >= told.get(parent.run_id, -1)
            runs = [born(parent, number) for number in range(last + 1)]
            children = await store.child_runs.children(parent, None, 1000)
            assert [each.header.key for each in children] == runs
            assert await store.child_runs.count_descendants(parent) == last + 1
            ordered += [PendingCancelRequest(run, parent.run_id, "why") for run in runs[:-1]]
            for each in children:
                said = each.projection.last_sequence
                given = result_batch(each.header.key, said - 1).child_result
                if said >= 0:
                    assert given is not None
                    news.append(PendingChildResult(parent, given))
        assert sorted(await store.child_runs.child_results(None, 1000), key=repr) == sorted(news, key=repr)
        assert sorted(await store.child_runs.cancel_requests(None, 1000), key=repr) == sorted(ordered, key=repr)

    prove(SqliteStore(path), check)


@pytest.mark.parametrize("times", [1, 7, 33])
@pytest.mark.parametrize(
    "name", ["append.begin", "writer.begin", "writer.commit", "writer.committed", "append.durable"]
)
@pytest.mark.parametrize(
    ("program", "check"),
    [(KILLED_WAITING, check_waiting), (KILLED_FAMILIES, check_families)],
    ids=["waiting", "families"],
)
def test_a_killed_process_leaves_what_its_logs_say(
    tmp_path: Path, program: str, check: Callable[[Path, dict[str, int]], None], name: str, times: int
) -> None:
    check(tmp_path / "store.db", kill(program, tmp_path / "store.db", name, str(times)))


@pytest.mark.parametrize(
    ("program", "check", "times"), [(KILLED_WAITING, check_waiting, "7"), (KILLED_FAMILIES, check_families, "1")]
)
def test_what_is_written_in_a_later_transaction_is_seen(
    tmp_path: Path, program: str, check: Callable[[Path, dict[str, int]], None], times: str
) -> None:
    """The sabotage of the test above: lists after the next append, children after the event that names them."""
    told = kill(program, tmp_path / "store.db", "writer.committed", times, "late")
    with pytest.raises(AssertionError):
        check(tmp_path / "store.db", told)
