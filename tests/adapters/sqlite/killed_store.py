"""A process that appends to runs, or makes families or forks of runs, and says so, until a fault point kills it."""

import asyncio
import os
import signal
import sys
from typing import Any

from msgspec.structs import replace

from weftwork.adapters.sqlite import forks, transactions
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.ports.fault_points import arm
from weftwork.protocol.run.batch import Batch, CancelRequest, HiddenValue
from weftwork.protocol.run.header import RunKey
from weftwork.testing.storage.child_runs import child, result_batch
from weftwork.testing.storage.forks import make_fork
from weftwork.testing.storage.harness import ACME
from weftwork.testing.storage.run_queries import interrupt, resolved_interrupt
from weftwork.testing.storage.samples import NOW, batch, make_run

RUNS = [RunKey(ACME, f"run-{number}") for number in range(3)]
"""In the store, their numbers are their places here, counted from 1."""


def step_of_waiting(run: RunKey, number: int) -> Batch:
    """What the n-th append to a run writes: a question, a vote on it, its answer; it is parked every other time."""
    name = f"i{number // 3}"
    asked = replace(interrupt(name, number), value=b"%d" % number)
    made = batch(run, number - 1, 1, "waiting-approval", (resolved_interrupt(name) if number % 3 == 2 else asked,))
    return replace(made, projection=replace(made.projection, parked=number % 2 == 0, wake_at=NOW + number))


def born(parent: RunKey, number: int) -> RunKey:
    return RunKey(ACME, f"{parent.run_id}-{number}")


def step_of_family(parent: RunKey, number: int) -> Batch:
    """What the n-th append to a parent writes: one more child, and an order for the one before."""
    made = replace(batch(parent, number - 1), child_creates=(child(parent, born(parent, number).run_id),))
    return replace(made, cancel_requests=(CancelRequest(born(parent, number - 1).run_id, "why"),))


async def wait(store: SqliteStore, late: bool) -> None:
    later: dict[int, list[Any]] = {run_no: [] for run_no in (1, 2, 3)}
    real = transactions.set_open
    if late:
        transactions.set_open = lambda _, run_no, row: later[run_no].append(row)

    async def one(run_no: int, run: RunKey) -> None:
        for number in range(200):
            await store.log.append(run, number - 1, step_of_waiting(run, number))
            while len(later[run_no]) > 1:
                row = later[run_no].pop(0)
                await store._writer.submit(lambda connection, row=row: real(connection, run_no, row))
            print(run.run_id, number, flush=True)

    await asyncio.gather(*(one(run_no, run) for run_no, run in enumerate(RUNS, 1)))


async def grow(store: SqliteStore, late: bool) -> None:
    later: list[Any] = []
    real = transactions.insert_children
    if late:
        transactions.insert_children = lambda _, *rest: later.append(rest)

    async def one(parent: RunKey) -> None:
        for number in range(200):
            await store.log.append(parent, number - 1, step_of_family(parent, number))
            while later:
                rest = later.pop(0)
                await store._writer.submit(lambda connection, rest=rest: real(connection, *rest))
            print(parent.run_id, number, flush=True)
            run = born(parent, number)
            for expected in range(-1, number % 3):
                await store.log.append(run, expected, result_batch(run, expected))

    await asyncio.gather(*map(one, RUNS[:1] if late else RUNS))


def forked(source: RunKey, number: int) -> RunKey:
    return RunKey(ACME, f"{source.run_id}-fork-{number}")


async def fork(store: SqliteStore, late: bool) -> None:
    later: list[Any] = []
    real = forks._copy_source
    if late:
        forks._copy_source = lambda _, *rest: later.append(rest)

    async def one(source: RunKey) -> None:
        for number in range(200):
            hidden = (HiddenValue(number, "/line", b"1"),)
            await store.log.append(source, number - 1, batch(source, number - 1, hidden=hidden))
            await make_fork(store, source, number + 1, forked(source, number).run_id)
            while later:
                rest = later.pop(0)
                await store._writer.submit(lambda connection, rest=rest: real(connection, *rest))
            print(source.run_id, number, flush=True)

    await asyncio.gather(*map(one, RUNS[:1] if late else RUNS))


async def main(path: str, work: str, name: str, times: str, late: bool) -> None:
    store = SqliteStore(path)
    await store.open()
    for run in RUNS:
        await make_run(store, run.run_id)
    arm({(name, int(times)): lambda: os.kill(os.getpid(), signal.SIGKILL)})
    await {"waiting": wait, "families": grow, "forks": fork}[work](store, late)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:5], late=sys.argv[5:] == ["late"]))
