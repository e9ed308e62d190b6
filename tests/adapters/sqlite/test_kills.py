"""A process that is killed leaves the lists of who waits, families and forks as the logs of the runs say."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.adapters.sqlite.killed_store import RUNS, born, forked, step_of_waiting
from tests.harness.cases import present
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.storage.child_runs import PendingCancelRequest, PendingChildResult
from weftwork.ports.storage.run_queries import OpenInterrupt
from weftwork.protocol.run.header import RunKey
from weftwork.testing.storage.child_runs import result_batch
from weftwork.testing.storage.harness import prove
from weftwork.testing.storage.run_queries import list_all, open_interrupt
from weftwork.testing.storage.samples import NOW, unfinished

ROOT = Path(__file__).parents[3]
POINTS = ["append.begin", "writer.begin", "writer.commit", "writer.committed", "append.durable"]


def kill(path: Path, *arguments: str) -> dict[str, int]:
    """Let a process write until it is killed at a point; the last number that each run (or parent) was told of."""
    line = [sys.executable, "-m", "tests.adapters.sqlite.killed_store", str(path), *arguments]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return {run_id: int(number) for run_id, number in (text.split() for text in done.stdout.splitlines())}


def check_waiting(path: Path, told: dict[str, int]) -> None:
    """Each run stands at one of its appends, told ones included, and so do the lists."""

    async def check(store: SqliteStore) -> None:
        open_now: list[OpenInterrupt] = []
        waking_at: list[tuple[int, RunKey]] = []
        for run in RUNS:
            found = present(await store.log.projection(run))
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
        assert await unfinished(store, None, 10) == awake

    prove(SqliteStore(path), check)


def check_families(path: Path, told: dict[str, int]) -> None:
    """Each parent stands at one of its appends, told ones included, with the children and orders of these."""

    async def check(store: SqliteStore) -> None:
        news: list[PendingChildResult] = []
        ordered: list[PendingCancelRequest] = []
        for parent in RUNS:
            found = present(await store.log.projection(parent))
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


def check_forks(path: Path, told: dict[str, int]) -> None:
    """Each run has all forks that were told of, and at most one more; each has its whole prefix and its own event."""

    async def check(store: SqliteStore) -> None:
        for source in RUNS:
            last = present(await store.log.projection(source)).last_sequence
            made = [found.header.key for found in await store.forks.forks_of(source, None, 1000)]
            assert made == [forked(source, number) for number in range(len(made))]
            assert told.get(source.run_id, -1) < len(made) <= last + 1
            for number, fork in enumerate(made):
                events = await store.log.read(fork, -1, 1000)
                assert [each.sequence for each in events] == list(range(number + 2))
                assert len(await store.log.hidden_values(fork)) == number + 1

    prove(SqliteStore(path), check)


CHECKS: dict[str, Callable[[Path, dict[str, int]], None]] = {
    "waiting": check_waiting,
    "families": check_families,
    "forks": check_forks,
}


@pytest.mark.parametrize("times", [1, 7, 33])
@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("work", CHECKS)
def test_a_killed_process_leaves_what_its_logs_say(tmp_path: Path, work: str, name: str, times: int) -> None:
    path = tmp_path / "store.db"
    CHECKS[work](path, kill(path, work, name, str(times)))


@pytest.mark.parametrize(("work", "times"), [("waiting", "7"), ("families", "1"), ("forks", "2")])
def test_what_is_written_in_a_later_transaction_is_seen(tmp_path: Path, work: str, times: str) -> None:
    """The sabotage of the test above: lists after the next append, children after the event that names
    them, a copy after its fork."""
    path = tmp_path / "store.db"
    told = kill(path, work, "writer.committed", times, "late")
    with pytest.raises(AssertionError):
        CHECKS[work](path, told)
