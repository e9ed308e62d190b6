"""The store as a dead host left it: whatever one run has to say to another is in it, and in nobody's memory."""

import asyncio
from pathlib import Path

import msgspec

from tests.crash.store_image import check_store_image, in_store
from weftwork.ports.storage.child_runs import ChildRuns
from weftwork.ports.storage.event_log import EventLog
from weftwork.ports.storage.store import Store
from weftwork.protocol.run.events import CANCEL_REQUESTED, CHILD_ENDED, CHILD_STARTED, CHILD_STATUS, Event
from weftwork.protocol.run.header import TERMINAL_STATUSES, WAITING_STATUSES, RunKey
from weftwork.protocol.run.projection import StoredRun
from weftwork.wiring.data_folder import DATABASE_FILE

PAGE = 1000
_CHILD_EVENTS = (CHILD_STARTED, CHILD_STATUS, CHILD_ENDED)


def check_messages(data: Path, copy: Path) -> None:
    """Look at a copy, which is made here: the next host must find the files as they were left."""
    check_store_image(data, copy)
    asyncio.run(in_store(copy / DATABASE_FILE, _check))


async def _check(store: Store, keys: list[RunKey]) -> None:
    results = await store.child_runs.child_results(None, PAGE * PAGE)
    news = {each.result.child_run_id: each.result.status for each in results}
    orders = {each.child.run_id for each in await store.child_runs.cancel_requests(None, PAGE * PAGE)}
    for key in keys:
        await _check_run(store, key, news, orders)


async def _check_run(store: Store, key: RunKey, news: dict[str, str], orders: set[str]) -> None:
    events = await _events(store.log, key)
    words = [(event.type, msgspec.json.decode(event.payload)) for event in events if event.type in _CHILD_EVENTS]
    started = [said["childRunId"] for kind, said in words if kind == CHILD_STARTED]
    there = await _children(store.child_runs, key)
    assert list(there) == started, f"{key.run_id} names {len(started)} children, and there are {len(there)}"
    stored = await store.log.read_run(key)
    assert stored is not None
    heard = {said["childRunId"]: said["status"] for kind, said in words if kind != CHILD_STARTED}
    ended = [said["childRunId"] for kind, said in words if kind == CHILD_ENDED]
    assert len(ended) == len(set(ended)), f"{key.run_id} has heard the end of a child twice"
    status = stored.projection.status
    stops = status == "cancelled" or any(event.type == CANCEL_REQUESTED for event in events)
    for run_id, child in there.items():
        assert child.header.parent is not None
        stands = child.projection.status
        assert run_id not in ended or stands in TERMINAL_STATUSES, f"{key.run_id} knows the end of a child that goes on"
        if status not in TERMINAL_STATUSES and not stops and child.header.parent.awaited:
            said = heard.get(run_id), news.get(run_id)
            if "cancelling" in said and stands not in TERMINAL_STATUSES:
                assert run_id in orders, f"{key.run_id} wants its child {run_id} cancelled, and there is no order"
            elif stands in TERMINAL_STATUSES or stands in WAITING_STATUSES:
                assert stands in said, f"the word of {run_id} is lost: it is {stands}, and there is {said}"
        if stops and stands not in TERMINAL_STATUSES and child.header.parent.cascade:
            assert run_id in orders, f"{key.run_id} is cancelled, and its child {run_id} has no order"


async def _events(log: EventLog, key: RunKey) -> list[Event]:
    found: list[Event] = []
    while page := await log.read(key, found[-1].sequence if found else -1, PAGE):
        found += page
    return found


async def _children(child_runs: ChildRuns, key: RunKey) -> dict[str, StoredRun]:
    """In the order in which they were made."""
    found: dict[str, StoredRun] = {}
    while page := await child_runs.children(key, list(found)[-1] if found else None, PAGE):
        found |= {each.header.run_id: each for each in page}
    return found
