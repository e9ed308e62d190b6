"""Checks across a restart: a store is closed and another one is opened on the same data."""

from collections.abc import Awaitable, Callable

from weftwork.ports.storage.assets import AssetQuery
from weftwork.ports.storage.event_log import FenceLost, RunCreated, SequenceConflict, StoreUnavailable
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.run_queries import InterruptQuery, RunQuery
from weftwork.protocol.run.batch import HiddenValue
from weftwork.protocol.run.projection import StateRow
from weftwork.testing.storage.annotations import annotation
from weftwork.testing.storage.assets import asset
from weftwork.testing.storage.definitions import MAX_REGISTRATIONS, register, registration
from weftwork.testing.storage.forks import fork_batch, fork_header
from weftwork.testing.storage.harness import Store, catch, fields_of, opened, run_ids, state_of
from weftwork.testing.storage.keys import key, signing_key
from weftwork.testing.storage.samples import ACME, OTHER, batch, header, make_run, record, unfinished


async def everything_survives_a_restart(make: Callable[[], Store]) -> None:
    """Everything that was written by a call that returned is unchanged after a restart."""
    async with opened(make()) as store:
        given = header(tags=("t",))
        await store.log.create(given, (HiddenValue(-1, "/a", b"1"),), record())
        row = StateRow("variable", "v", b"1")
        await store.log.append(
            given.key, -1, batch(given.key, -1, 5, rows=(row,), hidden=(HiddenValue(2, "/b", b"2"),))
        )
        await make_run(store, "ended", OTHER, "completed")
        await store.definitions.put("d1", b"{}")
        await register(store, registration(), registration(version="2.0"))
        await store.keys.put(key("k1"))
        salt = await store.keys.salt()
        await store.signing.put(signing_key())
        await store.annotations.add(given.key, annotation(), 1)
        before = await state_of(store, given.key)
    async with opened(make()) as store:
        assert await state_of(store, given.key) == before
        assert await store.records.find_record(ACME, "slot-1", 0) == record()
        assert await unfinished(store, None, 10) == [given.key]
        for query in (RunQuery(), RunQuery(tags=("t",)), RunQuery(workflow_id="greet")):
            assert [found.header for found in (await store.queries.list_runs(ACME, query)).runs] == [given]
        assert await store.definitions.get("d1") == b"{}"
        assert await store.definitions.find("acme", "greet", "1.0") == registration()
        assert await store.definitions.find("acme", "greet") == registration(version="2.0")
        assert await store.keys.all() == [key("k1")]
        assert await store.keys.salt() == salt
        assert await store.signing.all() == [signing_key()]
        assert await store.annotations.find(given.key, "a1") == annotation()


async def work_goes_on_after_a_restart(make: Callable[[], Store]) -> None:
    """Sequences, terminal statuses, slots and scopes are enforced after a restart."""
    async with opened(make()) as store:
        run = await make_run(store, status="running", scope_id="scope")
        ended = await make_run(store, "ended", status="failed")
        await store.records.save_record(record())
    async with opened(make()) as store:
        assert isinstance(await catch(store.log.append(run, -1, batch(run, -1))), SequenceConflict)
        assert isinstance(await catch(store.log.append(ended, 0, batch(ended, 0))), SequenceConflict)
        assert await store.log.create(header("run-b"), (), record()) == SlotTaken(record())
        assert await store.log.create(header("run-b", scope_id="scope"), (), None, True) != RunCreated()
        assert await store.log.append(run, 0, batch(run, 0)) is None
        assert [item["sequence"] for item in fields_of(await store.log.read(run, -1, 10))] == [0, 1]
        await make_run(store, "run-b")
        assert await run_ids(store) == ["run-b", "ended", "run-a"]


async def fences_survive_a_restart(make: Callable[[], Store]) -> None:
    """After a restart, an election has a higher epoch than all before, and runs have their fences and retry times."""
    async with opened(make()) as store:
        first = await store.election.take()
        run = await make_run(store, status="running")
        assert await store.ownership.take(run, first) is True
        assert await store.ownership.retry_later(run, first, 5) is True
    async with opened(make()) as store:
        assert await store.ownership.fence_of(run) == first
        assert await store.ownership.due_retries(first, 5, 10) == [run]
        second = await store.election.take()
        assert second > first
        assert await store.ownership.take(run, first) is False
        assert [each.key for each in await store.ownership.untaken(second, None, 10)] == [run]
        assert isinstance(await catch(store.log.append(run, 0, batch(run, 0), second)), FenceLost)
        assert await store.ownership.take(run, second) is True
        assert await store.log.append(run, 0, batch(run, 0), second) is None


async def a_closed_store_is_unavailable(make: Callable[[], Store]) -> None:
    """After `close`, every call raises StoreUnavailable."""
    async with opened(make()) as store:
        run = await make_run(store)
    calls: list[Awaitable[object]] = [
        store.log.create(header("run-b")),
        store.log.append(run, -1, batch(run, -1)),
        store.child_runs.children(run, None, 10),
        store.child_runs.count_descendants(run),
        store.child_runs.child_results(None, 10),
        store.child_runs.acknowledge_results(()),
        store.child_runs.cancel_requests(None, 10),
        store.forks.create(fork_header(run, 0), fork_batch(run, 0)),
        store.forks.forks_of(run, None, 10),
        store.records.save_record(record()),
        store.records.find_record(ACME, "slot-1", 0),
        store.log.read(run, -1, 10),
        store.log.read_run(run),
        store.log.projection(run),
        store.log.hidden_values(run),
        store.queries.list_runs(ACME, RunQuery()),
        store.ownership.take(run, 1),
        store.ownership.fence_of(run),
        store.ownership.untaken(1, None, 10),
        store.ownership.count_untaken(1, run),
        store.ownership.newest_run(),
        store.ownership.retry_later(run, 1, 0),
        store.ownership.due_retries(1, 0, 10),
        store.election.take(),
        store.queries.next_wake(),
        store.queries.due_runs(0, 10),
        store.queries.timed_runs(None, 10),
        store.queries.list_interrupts(ACME, InterruptQuery()),
        store.log.check_ready(),
        store.records.sweep(0),
        store.retention.delete(run, 0),
        store.retention.purge(),
        store.retention.forget_deleted(0),
        store.retention.runs_ended_before(0, 10),
        store.retention.count_ended(0),
        store.definitions.put("d1", b""),
        store.definitions.get("d1"),
        store.definitions.register(registration(), b"", MAX_REGISTRATIONS),
        store.definitions.find("acme", "greet"),
        store.definitions.workflows("acme", None, 10),
        store.definitions.count(),
        store.keys.salt(),
        store.keys.put(key("k1")),
        store.keys.all(),
        store.signing.put(signing_key()),
        store.signing.drop("s1"),
        store.signing.all(),
        store.annotations.add(run, annotation(), 1),
        store.annotations.find(run, "a1"),
        store.annotations.page(run, None, 1, 1),
        store.annotations.locate(run, "event-0", 1),
        store.assets.add(asset()),
        store.assets.hold(ACME, "0", 0),
        store.assets.find(ACME, "0"),
        store.assets.page(ACME, AssetQuery()),
        store.assets.usage(ACME),
        store.assets.unreferenced_usage(0),
        store.assets.tombstone_unreferenced(0, 1),
        store.assets.tombstones(1),
        store.assets.clear_tombstones([]),
        store.assets.known_keys([]),
    ]
    ends = [await catch(call) for call in calls]
    assert [type(end) for end in ends] == [StoreUnavailable] * len(calls)
