"""Checks of deletion: an ended run is deleted with everything that belongs to it, and nothing else."""

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from weftwork.ports.storage.annotations import Annotation
from weftwork.ports.storage.event_log import RunCreated, SequenceConflict
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.retention import StillLive
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import HiddenValue
from weftwork.protocol.run.header import STATUSES, TERMINAL_STATUSES, RunKey
from weftwork.protocol.run.projection import StateRow
from weftwork.testing.storage.harness import Store, catch, opened, purge, run_ids, state_of
from weftwork.testing.storage.samples import ACME, NOW, OTHER, batch, header, make_run, record, unfinished

NO_STATE: Final[tuple[Any, ...]] = (None, [], [])
QUERIES: Final = (RunQuery(), RunQuery(tags=("t",)), RunQuery(workflow_id="greet"), RunQuery(statuses=("completed",)))


async def a_deleted_run_is_gone(store: Store) -> None:
    """After `delete`, no call returns anything of the run. Other runs are unchanged."""
    before, run, after = [await _full_run(store, name) for name in ("run-a", "run-b", "run-c")]
    shown = [await state_of(store, before), await state_of(store, after)]
    assert await store.retention.delete(run, NOW) is True
    assert await state_of(store, run) == NO_STATE
    assert await store.log.projection(run) is None
    assert await store.annotations.page(run, None, 10, 1000) is None
    assert await store.annotations.find(run, "said-1") is None
    for query in QUERIES:
        assert await run_ids(store, query) == ["run-c", "run-a"]
    assert isinstance(await catch(store.log.append(run, 4, batch(run, 4))), SequenceConflict)
    assert await store.retention.delete(run, NOW) is False
    await purge(store)
    assert [await state_of(store, before), await state_of(store, after)] == shown


async def a_live_run_is_not_deleted(store: Store) -> None:
    """`delete` of a run that has not ended raises StillLive and changes nothing."""
    for status in STATUSES:
        run = await make_run(store, f"run-{status}", status=status)
        before = await state_of(store, run)
        if status in TERMINAL_STATUSES:
            assert await store.retention.delete(run, NOW) is True
        else:
            assert isinstance(await catch(store.retention.delete(run, NOW, record(run.run_id))), StillLive)
            assert await store.records.find_record(ACME, run.run_id, 0) is None
            assert await state_of(store, run) == before


async def another_partition_deletes_nothing(store: Store) -> None:
    """A run can be deleted only in its own partition."""
    run = await _full_run(store)
    before = await state_of(store, run)
    for partition in (OTHER, "test:acme", ""):
        assert await store.retention.delete(RunKey(partition, run.run_id), NOW) is False
    assert await state_of(store, run) == before


async def a_long_run_is_gone_at_once(store: Store) -> None:
    """A run of any size is invisible at once after `delete`, before and after it is purged."""
    run = await _full_run(store, events=3000, rows=700)
    assert await store.retention.delete(run, NOW) is True
    assert await state_of(store, run) == NO_STATE
    fresh = await make_run(store, "run-b")
    stored, events, hidden = await state_of(store, fresh)
    assert (stored.rows, events, hidden) == ((), [], [])
    assert await store.log.append(fresh, -1, batch(fresh, -1, 2)) is None
    before = await state_of(store, fresh)
    assert await purge(store) < 1000
    assert await state_of(store, fresh) == before
    assert await store.retention.purge() is False


async def a_run_id_is_free_after_deletion(store: Store) -> None:
    """After a deletion, a run with the same id can be created and deleted again. It has nothing of the old run."""
    for _ in range(3):
        again = await _full_run(store, events=1500)
        stored, events, hidden = await state_of(store, again)
        assert (len(stored.rows), len(events), len(hidden)) == (3, 1500, 2)
        assert await store.retention.delete(again, NOW) is True
        fresh = header(again.run_id)
        assert await store.log.create(fresh) == RunCreated()
        assert (await state_of(store, again))[1:] == ([], [])
        assert [each.header for each in (await store.queries.list_runs(ACME, RunQuery())).runs] == [fresh]
        await store.log.append(again, -1, batch(again, -1, status="failed"))
        assert await store.retention.delete(again, NOW) is True
    await purge(store)


async def a_page_goes_on_after_a_deleted_run(store: Store) -> None:
    """A listing continues behind the last run of a page although that run was deleted, until `forget_deleted` removes
    its position."""
    runs = [await make_run(store, f"run-{number}", status="completed", tags=("t",)) for number in range(6)]
    for query in (RunQuery(limit=2), RunQuery(tags=("t",), limit=2), RunQuery(workflow_id="greet", limit=2)):
        assert await run_ids(store, query) == ["run-5", "run-4"]
    await store.retention.delete(runs[4], NOW)
    await purge(store)
    for query in QUERIES:
        cursor = replace(query, before="run-4")
        assert await run_ids(store, cursor) == ["run-3", "run-2", "run-1", "run-0"]
    elsewhere = await store.queries.list_runs(OTHER, RunQuery(before="run-4"))
    assert elsewhere.runs == ()
    assert await store.retention.forget_deleted(NOW) == 0
    assert await run_ids(store, RunQuery(before="run-4", limit=1)) == ["run-3"]
    assert await store.retention.forget_deleted(NOW + 1) == 1
    assert await run_ids(store, RunQuery(before="run-4")) == []


async def recovery_goes_on_after_a_deleted_run(store: Store) -> None:
    """`RunOwnership.untaken` continues behind a run that has ended and was deleted."""
    runs = [await make_run(store, f"run-{number}") for number in range(4)]
    await store.log.append(runs[1], -1, batch(runs[1], -1, status="failed"))
    await store.retention.delete(runs[1], NOW)
    assert await unfinished(store, runs[1], 10) == runs[2:]


async def a_record_outlives_its_run(store: Store) -> None:
    """The idempotency record of a run remains after the run was deleted."""
    run = header().key
    await store.log.create(header(), (), record())
    await store.log.append(run, -1, batch(run, -1, status="completed"))
    await store.retention.delete(run, NOW)
    await purge(store)
    assert await store.records.find_record(ACME, "slot-1", 0) == record()
    assert await store.log.create(header("run-b"), (), record()) == SlotTaken(record())


async def a_deletion_is_recorded_with_it(store: Store) -> None:
    """A record that is passed to `delete` is stored with the deletion. If its slot is taken, nothing is deleted."""
    first, second = await _full_run(store, "run-a"), await _full_run(store, "run-b")
    assert await store.retention.delete(RunKey(ACME, "run-x"), NOW, record()) is False
    assert await store.records.find_record(ACME, "slot-1", 0) is None
    assert isinstance(await catch(store.retention.delete(first, NOW, record(partition=OTHER))), HostFault)
    assert await store.retention.delete(first, NOW, record()) is True
    before = await state_of(store, second)
    for run in (first, second):
        assert await store.retention.delete(run, NOW, record(outcome=b"other")) == SlotTaken(record())
    assert await state_of(store, second) == before


async def ended_runs_are_found_by_their_end(store: Store) -> None:
    """`runs_ended_before` and `count_ended` cover the runs that ended before a time, in one partition or in all."""
    ends = {"run-a": 30, "run-b": 10, "run-c": 20, "run-d": 10, "run-e": 40}
    runs = {name: await _run_ended_at(store, name, ACME, end) for name, end in ends.items()}
    await _run_ended_at(store, "run-f", OTHER, 5)
    await _run_ended_at(store, "run-g", "test:acme", 15)
    await make_run(store, "run-live", status="running")
    for before, wanted in ((10, []), (11, ["run-b", "run-d"]), (31, ["run-b", "run-d", "run-c", "run-a"])):
        found = await store.retention.runs_ended_before(NOW + before, 10, ACME)
        assert [run.run_id for run in found] == wanted
        assert await store.retention.runs_ended_before(NOW + before, 1, ACME) == found[:1]
        assert await store.retention.count_ended(NOW + before, ACME) == len(wanted)
    assert await store.retention.runs_ended_before(NOW + 99, 0, ACME) == []
    assert await store.retention.runs_ended_before(NOW + 99, 10, "live:acm") == []
    everywhere = await store.retention.runs_ended_before(NOW + 16, 10)
    assert {run.run_id for run in everywhere} == {"run-b", "run-d", "run-f", "run-g"}
    assert len(await store.retention.runs_ended_before(NOW + 16, 3)) == 3
    assert await store.retention.count_ended(NOW + 16) == 4
    await store.retention.delete(runs["run-b"], NOW)
    assert await store.retention.runs_ended_before(NOW + 11, 10, ACME) == [runs["run-d"]]
    assert await store.retention.count_ended(NOW + 99) == 6


async def a_deletion_survives_a_restart(make: Callable[[], Store]) -> None:
    """A deleted run stays invisible after a restart, and its purge continues."""
    async with opened(make()) as store:
        run = await _full_run(store, events=2000)
        kept = await make_run(store, "run-b", status="completed")
        await store.retention.delete(run, NOW, record())
        before = await state_of(store, kept)
    async with opened(make()) as store:
        assert await store.records.find_record(ACME, "slot-1", 0) == record()
        for _ in range(2):
            assert await state_of(store, run) == NO_STATE
            assert await state_of(store, kept) == before
            await purge(store)


async def _run_ended_at(store: Store, run_id: str, partition: str, at: int) -> RunKey:
    run = await make_run(store, run_id, partition)
    last = batch(run, -1, status="cancelled")
    last = replace(last, projection=replace(last.projection, completed_at=NOW + at))
    assert await store.log.append(run, -1, last) is None
    return run


async def _full_run(store: Store, run_id: str = "run-a", events: int = 5, rows: int = 3, **fields: Any) -> RunKey:
    """An ended run with events, rows, tags, hidden values and an annotation."""
    run_header = header(run_id, tags=("t", "u"), inputs={"x": "[REDACTED]"}, **fields)
    run = run_header.key
    assert await store.log.create(run_header, (HiddenValue(-1, "/x", b'"secret"'),)) == RunCreated()
    values = tuple(StateRow("variable", f"v{number}", b"%d" % number) for number in range(rows))
    last = batch(run, -1, events, "completed", values, (HiddenValue(1, "/y", b'"secret"'),))
    assert await store.log.append(run, -1, last) is None
    assert await store.annotations.add(run, Annotation("said-1", b"{}"), 10) == "added"
    return run
