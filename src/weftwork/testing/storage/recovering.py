"""Checks of `unfinished`: what a host that starts has to go on with."""

from typing import Final

from weftwork.protocol.run import STATUSES, TERMINAL, RunKey
from weftwork.testing.storage.sample import ACME, OTHER, batch, make_run
from weftwork.testing.storage.store import Check, Store


async def unfinished_runs_are_found(store: Store) -> None:
    """`unfinished` gives the runs of all partitions that have not ended, oldest first."""
    live: list[RunKey] = []
    for number in range(20):
        status = STATUSES[number % len(STATUSES)]
        run = await make_run(store, f"run-{99 - number}", OTHER if number % 3 else ACME, status)
        if status not in TERMINAL:
            live.append(run)
    assert await store.log.unfinished(None, 100) == live
    await store.log.append(live[0], -1, batch(live[0], -1, status="cancelled"))
    assert await store.log.unfinished(None, 100) == live[1:]


async def unfinished_runs_come_in_pages(store: Store) -> None:
    """Asking on after the last run of a page gives each live run once, even if that one has ended since."""
    live = [await make_run(store, f"run-{number}", OTHER if number % 2 else ACME) for number in range(11)]
    for limit in (1, 3, 11, 50):
        found: list[RunKey] = []
        while page := await store.log.unfinished(found[-1] if found else None, limit):
            assert len(page) <= limit
            found += page
        assert found == live
    await store.log.append(live[4], -1, batch(live[4], -1, status="failed"))
    assert await store.log.unfinished(live[4], 3) == live[5:8]


CHECKS: Final[tuple[Check, ...]] = (unfinished_runs_are_found, unfinished_runs_come_in_pages)
