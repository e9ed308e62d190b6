"""Real worker processes: results, crashes, cancellation, limits, and what a worker has of its host."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.harness.cases import fails_without
from weftwork.adapters.expressions import worker_pool
from weftwork.adapters.expressions.worker_pool import WorkerPool
from weftwork.ports.expression_workers import WorkerLost
from weftwork.protocol.expressions.expression import parse_expression
from weftwork.protocol.expressions.faults import OUT_OF_MEMORY
from weftwork.protocol.expressions.job import ExpressionJob, JobResult, perform_job
from weftwork.protocol.limits import MAX_ENTRY_WORK

ENDLESS = 10**12
BOUND_S = 20.0


def job(source: str, budget: int = 20_000_000, **inputs: Any) -> ExpressionJob:
    return ExpressionJob(source, (), msgspec.Raw(msgspec.json.encode({"inputs": inputs})), budget)


WORDS = [f"word-{at}" for at in range(9_000)]
LONG = job("inputs.a.all(x, !(x in inputs.b))", ENDLESS, a=WORDS, b=[f"other-{at}" for at in range(9_000)])
"""Takes about a second."""


@asynccontextmanager
async def open_pool(size: int = 2) -> AsyncIterator[WorkerPool]:
    pool = WorkerPool(size)
    try:
        async with asyncio.timeout(BOUND_S):
            yield pool
    finally:
        await pool.close()


def pids(pool: WorkerPool) -> list[int]:
    workers = [*pool._idle, *pool._working]  # pyright: ignore[reportPrivateUsage]
    return sorted(worker.process.pid for worker in workers)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def until_busy(pool: WorkerPool) -> int:
    """The process of the only job."""
    while not pool._working:  # pyright: ignore[reportPrivateUsage]
        await asyncio.sleep(0)
    return pids(pool)[0]


async def until_dead(pid: int) -> None:
    while is_alive(pid):
        await asyncio.sleep(0.001)


async def test_a_worker_returns_what_the_host_would_compute() -> None:
    jobs = [
        job("inputs.l.map(x, x + 1.0)", l=[1, 2.5]),
        job("inputs.o", o={"b": None, "a": ["é", True]}),
        job("inputs.l + 1.0", l="x"),
        job("inputs.", l=1),
        job("inputs.l.map(x, x)", 100, l=list(range(100))),
    ]
    async with open_pool() as pool:
        assert not pids(pool)
        found = [await pool.evaluate("t", each) for each in jobs]
        assert len(pids(pool)) == 1
    assert found == list(map(perform_job, jobs))
    assert found[0].value == [2, 3.5]
    assert found[2].fault is not None
    assert found[4] == JobResult(found[4].work)
    assert found[4].work > 100


@fails_without(worker_pool, "ATTEMPTS", 1, errors=(WorkerLost,))
async def test_a_job_is_repeated_when_its_worker_is_killed() -> None:
    async with open_pool() as pool:
        running = asyncio.ensure_future(pool.evaluate("t", LONG))
        first = await until_busy(pool)
        os.kill(first, signal.SIGKILL)
        assert (await running).value is True
        assert pids(pool) != [first]


async def test_a_job_whose_worker_dies_twice_is_lost() -> None:
    async with open_pool() as pool:
        running = asyncio.ensure_future(pool.evaluate("t", LONG))
        for _ in range(2):
            pid = await until_busy(pool)
            os.kill(pid, signal.SIGKILL)
            await until_dead(pid)
            while pid in pids(pool):
                await asyncio.sleep(0)
        with pytest.raises(WorkerLost):
            await running
        assert (await pool.evaluate("t", job("1 + 1"))).value == 2


async def test_a_worker_that_cannot_be_started_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    async with open_pool() as pool:
        with pytest.raises(WorkerLost):
            await pool.evaluate("t", LONG)


@fails_without(WorkerPool, "_end", lambda self, worker: self._working.discard(worker))
async def test_cancelling_a_job_kills_its_worker_in_the_middle() -> None:
    async with open_pool() as pool:
        running = asyncio.ensure_future(pool.evaluate("t", job(LONG.source, ENDLESS, **_inputs(LONG))))
        pid = await until_busy(pool)
        (worker,) = pool._working  # pyright: ignore[reportPrivateUsage]
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        for _ in range(100):
            if is_alive(pid):
                await asyncio.sleep(0.001)
        alive = is_alive(pid)
        worker.kill()
        await worker.process.wait()
        assert not alive
        assert (await pool.evaluate("t", job("1 + 1"))).value == 2


def _inputs(given: ExpressionJob) -> dict[str, Any]:
    return msgspec.json.decode(given.scope)["inputs"]


async def test_closing_ends_all_workers_and_jobs() -> None:
    async with open_pool(1) as pool:
        running = [asyncio.ensure_future(pool.evaluate(tenant, LONG)) for tenant in "ab"]
        pid = await until_busy(pool)
        await pool.close()
        results = await asyncio.gather(*running, return_exceptions=True)
        assert all(isinstance(each, WorkerLost) for each in results)
        assert not is_alive(pid)
        with pytest.raises(WorkerLost):
            await pool.evaluate("t", job("1"))


async def test_a_worker_has_no_files_and_no_environment_of_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFTWORK_API_KEY", "secret=acme")
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    try:
        async with open_pool() as pool:
            await pool.evaluate("t", job("1"))
            (pid,) = pids(pool)
            assert Path(f"/proc/{pid}/environ").read_bytes() == b""
            files = {name: os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}
            assert sorted(files) == ["0", "1", "2", "3"]
            assert (files["1"], files["2"]) == ("/dev/null", "/dev/null")
            assert os.readlink(f"/proc/{pid}/cwd") == "/"
            loaded = Path(f"/proc/{pid}/maps").read_text()
            assert "_ssl" not in loaded
    finally:
        os.close(reader)
        os.close(writer)


async def test_the_memory_of_a_worker_is_limited_and_an_idle_one_is_small() -> None:
    wide = [[1.0] * 10_000] * 800
    async with open_pool() as pool:
        result = await pool.evaluate("t", job("size(inputs.l)", ENDLESS, l=wide))
        assert result.fault == ("expression_limit", OUT_OF_MEMORY)
        await pool.evaluate("t", job("1"))
        (pid,) = pids(pool)
        status = Path(f"/proc/{pid}/status").read_text()
        assert int(status.partition("VmRSS:")[2].split()[0]) < 64 * 1024


CHAINS = {
    "inputs.l.map(x, x + 1.0).filter(x, x > 3.0)": 2_000,
    "inputs.l.filter(x, x >= 0.0).map(x, x).map(x, x)": 1_820,
    "inputs.l.map(x, x).map(x, x).map(x, x).map(x, x).map(x, x).map(x, x).map(x, x).map(x, x)": 1_100,
}
"""Chains, with nearly the longest list for which the budget is enough."""


@pytest.mark.parametrize("source", CHAINS)
@fails_without(worker_pool, "MAX_PLACES", 1)
async def test_chains_that_fit_into_the_budget_fit_into_the_memory(source: str) -> None:
    items = list(range(CHAINS[source]))
    evaluation = parse_expression(source).prepare({"inputs": {"l": items}})
    assert evaluation is not None
    assert MAX_ENTRY_WORK * 0.8 < evaluation.work <= MAX_ENTRY_WORK
    async with open_pool() as pool:
        result = await pool.evaluate("t", job(source, l=items))
    assert result.fault is None
    assert result.value == perform_job(job(source, l=items)).value


BIG = job(next(iter(CHAINS)), l=list(range(2_000)))
"""Needs the memory of two workers."""


@pytest.mark.parametrize("size", [1, 2, 3])
async def test_a_job_that_needs_the_memory_of_two_workers_takes_two_places(size: int) -> None:
    taken: list[int] = []

    class Watched(WorkerPool):
        async def _perform(self, message: bytes, places: int) -> JobResult | None:
            taken.append(places)
            assert self._busy <= self._size
            assert self._busy >= min(places, self._size)
            return await super()._perform(message, places)

    pool = Watched(size)
    try:
        async with asyncio.timeout(BOUND_S):
            found = await asyncio.gather(*(pool.evaluate("t", each) for each in (BIG, job("1"), BIG, job("2"))))
    finally:
        await pool.close()
    assert [len(each.value) if isinstance(each.value, list) else each.value for each in found] == [1_997, 1, 1_997, 2]
    assert sorted(taken) == [1, 1, 1, 1, 2, 2]
    assert (pool._busy, pool._queues) == (0, {})


@pytest.mark.parametrize("granted", [False, True])
async def test_a_cancelled_job_leaves_its_places_to_the_next_one(granted: bool) -> None:
    async with open_pool() as pool:
        await pool._acquire("a", 1)  # pyright: ignore[reportPrivateUsage]
        waiting = [
            asyncio.ensure_future(pool._acquire(tenant, places))  # pyright: ignore[reportPrivateUsage]
            for tenant, places in (("b", 2), ("c", 1))
        ]
        await asyncio.sleep(0)
        assert not any(each.done() for each in waiting)
        if granted:
            pool._release(1)  # pyright: ignore[reportPrivateUsage]
        waiting[0].cancel()
        await asyncio.wait(waiting)
        assert (waiting[0].cancelled(), waiting[1].exception()) == (True, None)
        assert pool._busy == 2 - granted  # pyright: ignore[reportPrivateUsage]


async def test_tenants_take_turns() -> None:
    ended: list[str] = []

    async def evaluate(tenant: str) -> None:
        await pool.evaluate(tenant, job("1"))
        ended.append(tenant)

    async with open_pool(1) as pool:
        await asyncio.gather(*map(evaluate, "aaaaabb"))
    assert "".join(ended) == "aababaa"


HOST = """
import asyncio, sys
sys.path[:0] = sys.argv[1:]
from tests.adapters.expressions.test_worker_pool import LONG, WorkerPool, job, pids
async def main():
    pool = WorkerPool(2)
    await pool.evaluate("t", job("1"))
    idle = pids(pool)
    running = [asyncio.ensure_future(pool.evaluate("t", LONG)) for _ in range(2)]
    while len(pool._working) < 2:
        await asyncio.sleep(0.001)
    print(*pids(pool), flush=True)
    await asyncio.gather(*running)
    await asyncio.sleep(600)
asyncio.run(main())
"""


async def test_workers_do_not_outlive_a_host_that_is_killed() -> None:
    root = str(Path(__file__).parents[3])
    host = subprocess.Popen([sys.executable, "-c", HOST, root], stdout=subprocess.PIPE, text=True)
    try:
        assert host.stdout is not None
        line = await asyncio.to_thread(host.stdout.readline)
    finally:
        host.kill()
        host.wait(BOUND_S)
        host.stdout.close()  # type: ignore[union-attr]
    found = list(map(int, line.split()))
    assert len(found) == 2
    async with asyncio.timeout(BOUND_S):
        for pid in found:
            await until_dead(pid)
