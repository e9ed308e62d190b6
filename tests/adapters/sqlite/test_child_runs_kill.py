"""A process that is killed leaves families as the logs of their runs say: each child once, and every word of it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.storage.child_runs import PendingCancelRequest, PendingChildResult
from weftwork.protocol.run.batch import Batch, CancelRequest
from weftwork.protocol.run.header import RunKey
from weftwork.testing.storage.child_runs import child, result_batch
from weftwork.testing.storage.harness import prove
from weftwork.testing.storage.samples import ACME, batch

KILLED = """
import asyncio, os, signal, sys
from weftwork.adapters.sqlite import transactions
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.fault_points import arm
from weftwork.testing.storage.samples import make_run
from weftwork.testing.storage.child_runs import result_batch
from tests.adapters.sqlite.test_child_runs_kill import PARENTS, born, step

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


def step(parent: RunKey, number: int) -> Batch:
    """What the n-th append to a parent writes: one more child, and an order for the one before."""
    made = replace(batch(parent, number - 1), child_creates=(child(parent, born(parent, number).run_id),))
    return replace(made, cancel_requests=(CancelRequest(born(parent, number - 1).run_id, "why"),))


def kill(path: Path, *arguments: str) -> dict[str, int]:
    """Let a process write until it is killed at a point; the last number that each parent was told of."""
    line = [sys.executable, "-c", KILLED, str(path), *arguments]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return {run_id: int(number) for run_id, number in (text.split() for text in done.stdout.splitlines())}


def check_left(path: Path, told: dict[str, int]) -> None:
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
def test_a_killed_process_leaves_families_as_its_logs(tmp_path: Path, name: str, times: int) -> None:
    check_left(tmp_path / "store.db", kill(tmp_path / "store.db", name, str(times)))


def test_children_that_are_made_later_are_seen(tmp_path: Path) -> None:
    """The sabotage of the test above: the event says that there is a child, and another transaction makes it."""
    told = kill(tmp_path / "store.db", "writer.committed", "1", "late")
    with pytest.raises(AssertionError):
        check_left(tmp_path / "store.db", told)
