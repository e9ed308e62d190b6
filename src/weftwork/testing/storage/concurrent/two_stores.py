"""Checks of two stores that are open on the same data at the same time, as in two processes.

Every decision of a store that reads before it writes is made here by both stores at once. A check with such a race
repeats it, because a store that breaks the guarantee does not break it every time.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterable
from typing import Any, Final

from msgspec.structs import replace

from weftwork.ports.storage.assets import AssetQuery, AssetUsage, QuotaReached
from weftwork.ports.storage.definitions import RegistrationLimitReached, VersionExists, VersionRegistered
from weftwork.ports.storage.event_log import FenceLost, RunCreated, ScopeTaken, SequenceConflict
from weftwork.ports.storage.forks import SourceMissing
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import CancelRequest, IdempotencyRecord
from weftwork.protocol.run.header import RunKey
from weftwork.testing.storage.annotations import annotation
from weftwork.testing.storage.assets import FAR_FUTURE, asset, digest
from weftwork.testing.storage.child_runs import child, create_children, result_batch
from weftwork.testing.storage.definitions import registration
from weftwork.testing.storage.forks import fork_batch, fork_header
from weftwork.testing.storage.harness import Store, catch, purge, run_ids
from weftwork.testing.storage.samples import ACME, NOW, OTHER, batch, header, make_run, record

Pair = tuple[Store, Store]
"""Two open stores on the same data, which was empty before."""
ROUNDS: Final = 20
"""How often a race is repeated."""
CALLERS: Final = 64

_REFUSALS = (FenceLost, HostFault, QuotaReached, SequenceConflict, SourceMissing)


async def _at_once(calls: Iterable[Awaitable[Any]]) -> list[Any]:
    """The results and refusals of calls that run at the same time."""

    async def result(call: Awaitable[Any]) -> Any:
        try:
            return await call
        except _REFUSALS as error:
            return error

    return await asyncio.gather(*map(result, calls))


def _numbered_record(number: int, slot: str = "slot-1", **fields: Any) -> IdempotencyRecord:
    return record(slot, outcome=b"%d" % number, **fields)


async def _listed(pair: Pair) -> list[str]:
    """The ids of all runs, which both stores list alike."""
    first, second = [await run_ids(store, RunQuery(limit=1000)) for store in pair]
    assert first == second
    return first


async def one_of_many_callers_gets_a_slot(pair: Pair) -> None:
    """Of 64 creates with one slot over both stores, one creates its run. The others return its record, and create
    nothing."""
    given = [_numbered_record(number) for number in range(CALLERS)]
    calls = [pair[at % 2].log.create(header(f"run-{at}"), (), given[at]) for at in range(CALLERS)]
    answers = await _at_once(calls)
    (winner,) = [at for at, answer in enumerate(answers) if answer == RunCreated()]
    assert Counter(map(str, answers)) == {str(RunCreated()): 1, str(SlotTaken(given[winner])): CALLERS - 1}
    assert await _listed(pair) == [f"run-{winner}"]


async def a_slot_is_taken_once_among_other_writes(pair: Pair) -> None:
    """Two writes with one slot that reach a store together, among others, have one effect: two creates, or two
    appends."""
    for name, store in zip(("first", "second"), pair, strict=True):
        ids = [f"{name}-{number}" for number in range(8)]
        slots = [name if number in (2, 5) else f"{name}-{number}" for number in range(8)]
        answers = await _at_once(store.log.create(header(ids[at]), (), record(slots[at])) for at in range(8))
        assert [str(answer) for answer in answers].count(str(SlotTaken(record(name)))) == 1
        created = [ids[at] for at, answer in enumerate(answers) if answer == RunCreated()]
        assert len(created) == 7
        appends = [f"{name}-append" if at in (1, 4) else f"{name}-append-{at}" for at in range(7)]
        runs = [RunKey(ACME, run_id) for run_id in created]
        answers = await _at_once(
            store.log.append(run, -1, batch(run, -1, record=record(slot)))
            for run, slot in zip(runs, appends, strict=True)
        )
        assert answers.count(None) == 6
        assert answers.count(SlotTaken(record(f"{name}-append"))) == 1
        assert sum([len(await store.log.read(run, -1, 10)) for run in runs]) == 6
    assert len(await _listed(pair)) == 14


async def opposite_orders_of_slots_do_not_block(pair: Pair) -> None:
    """Both stores write to the same slots at once, in opposite orders. Each slot gets one record; no write fails."""
    for number in range(ROUNDS):
        slots = [f"{number}-{at:02}" for at in range(16)]
        calls = [
            store.log.create(header(f"{number}-{name}-{slot}"), (), record(slot))
            for name, store, order in (("a", pair[0], slots), ("b", pair[1], slots[::-1]))
            for slot in order
        ]
        answers = await _at_once(calls)
        assert answers.count(RunCreated()) == len(slots)
        assert sum(isinstance(answer, SlotTaken) for answer in answers) == len(slots)


async def an_expired_slot_is_taken_once(pair: Pair) -> None:
    """Of many writers that find an expired record, one replaces it, also while both stores sweep."""
    for number in range(ROUNDS):
        slot = f"slot-{number}"
        assert await pair[0].records.save_record(_numbered_record(0, slot, created_at=NOW)) is None
        fresh = [_numbered_record(at, slot, created_at=NOW + 2, expired_before=NOW + 1) for at in range(1, 9)]
        saves = [pair[at % 2].records.save_record(each) for at, each in enumerate(fresh)]
        answers = (await _at_once([*saves, *(store.records.sweep(NOW + 1) for store in pair)]))[:8]
        (winner,) = [at for at, answer in enumerate(answers) if answer is None]
        stored = replace(fresh[winner], expired_before=0)
        assert answers.count(SlotTaken(stored)) == 7
        assert await pair[1].records.find_record(ACME, slot, 0) == stored


async def a_run_id_is_created_once(pair: Pair) -> None:
    """Of two creates with one run id, one succeeds. Nothing of the other is stored, not its record either."""
    for number in range(ROUNDS):
        given = header(f"run-{number}")
        records = [record(f"{number}-{at}") for at in (0, 1)]
        answers = await _at_once(pair[at].log.create(given, (), records[at]) for at in (0, 1))
        assert sum(isinstance(answer, HostFault) for answer in answers) == 1
        stored = [await pair[0].records.find_record(ACME, each.slot, 0) is not None for each in records]
        assert stored == [answer == RunCreated() for answer in answers]


async def rival_appends_leave_no_gap(pair: Pair) -> None:
    """Both stores append to the same runs. For each sequence one of them succeeds, and the log has no gap."""
    runs = [await make_run(pair[0], f"run-{number}") for number in range(4)]
    for expected in range(-1, ROUNDS - 1):
        calls = [(run, store) for run in runs for store in pair]
        answers = await _at_once(store.log.append(run, expected, batch(run, expected)) for run, store in calls)
        for at in range(len(runs)):
            both = answers[2 * at : 2 * at + 2]
            assert both.count(None) == 1
            assert sum(isinstance(answer, SequenceConflict) for answer in both) == 1
    for run in runs:
        assert [each.sequence for each in await pair[1].log.read(run, -1, 1000)] == list(range(ROUNDS))


async def one_of_two_takes_a_scope(pair: Pair) -> None:
    """Of exclusive creates in one scope over both stores, one creates a run. The others return its id."""
    for number in range(ROUNDS):
        scope = f"scope-{number}"
        headers = [header(f"{number}-{at}", scope_id=scope) for at in range(8)]
        answers = await _at_once(pair[at % 2].log.create(each, exclusive=True) for at, each in enumerate(headers))
        (winner,) = [at for at, answer in enumerate(answers) if answer == RunCreated()]
        assert answers.count(ScopeTaken(f"{number}-{winner}")) == 7


async def a_run_that_was_taken_accepts_no_old_fence(pair: Pair) -> None:
    """While one store appends with its fence, the other takes the run. From then on the first one is refused, and what
    it had appended before is not lost."""
    first, second = pair
    for number in range(ROUNDS):
        run = header(f"run-{number}").key
        assert await first.log.create(header(run.run_id), fence=1) == RunCreated()

        async def append_until_refused(run: RunKey = run) -> int:
            for expected in range(-1, 1000):
                refused = await catch(first.log.append(run, expected, batch(run, expected), 1))
                if refused is not None:
                    assert isinstance(refused, FenceLost)
                    return expected
            raise AssertionError("the fence was never lost")

        async def take(run: RunKey = run, pauses: int = number) -> int:
            for _ in range(pauses):
                await first.log.projection(run)
            assert await second.ownership.take(run, 2) is True
            found = await second.log.projection(run)
            assert found is not None
            return found.last_sequence

        last, seen = await asyncio.gather(append_until_refused(), take())
        assert last == seen, "an append with the old fence was accepted after the run had been taken"
        assert await second.log.append(run, last, batch(run, last), 2) is None
        assert len(await first.log.read(run, -1, 2000)) == last + 2


async def fences_only_rise(pair: Pair) -> None:
    """Both stores take the same runs with different fences. The highest one stays, and a lower one is refused
    afterwards."""
    for number in range(ROUNDS):
        run = await make_run(pair[0], f"run-{number}")
        fences = [1, 6, 3, 8, 5, 2, 7, 4]
        taken = await _at_once(pair[at % 2].ownership.take(run, fence) for at, fence in enumerate(fences))
        assert taken[fences.index(8)] is True
        assert [await store.ownership.fence_of(run) for store in pair] == [8, 8]
        for store in pair:
            assert await store.ownership.take(run, 7) is False
            assert await store.ownership.retry_later(run, 7, 1) is False


async def a_tenant_stays_below_its_quota(pair: Pair) -> None:
    """Both stores add assets of one tenant, in both of its partitions. Together they do not exceed the quota."""
    for number in range(ROUNDS):
        tenant = f"tenant{number}"
        given = [asset(f"{at}", f"{'test' if at % 3 else 'live'}:{tenant}") for at in range(12)]
        answers = await _at_once(pair[at % 2].assets.add(each, 50) for at, each in enumerate(given))
        assert sum(not isinstance(answer, QuotaReached) for answer in answers) == 5
        usage = [await pair[0].assets.usage(f"{mode}:{tenant}") for mode in ("live", "test")]
        assert sum(each.size for each in usage) == 50


async def an_asset_is_stored_once(pair: Pair) -> None:
    """Of two additions of the same bytes, one is stored. Both calls return it."""
    for number in range(ROUNDS):
        given = [asset(f"{number}", key=f"{number}-{at}") for at in range(4)]
        answers = await _at_once(pair[at % 2].assets.add(each) for at, each in enumerate(given))
        assert len({answer.key for answer in answers}) == 1
    assert await pair[1].assets.usage(ACME) == AssetUsage(ROUNDS, 10 * ROUNDS)


async def an_asset_is_deleted_or_referenced(pair: Pair) -> None:
    """While one store creates runs with an asset, the other deletes assets without references. An asset that a run
    refers to exists; one that was deleted has no references and a tombstone."""
    for number in range(ROUNDS):
        given = asset(f"{number}", held_until=0)
        await pair[0].assets.add(given)
        new, old = header(f"new-{number}", assets=(given.sha256,)), await make_run(pair[0], f"old-{number}")
        answers = await _at_once(
            [
                pair[0].log.create(new),
                pair[1].assets.tombstone_unreferenced(FAR_FUTURE, 100),
                pair[0].log.append(old, -1, batch(old, -1, assets=(given.sha256,))),
            ]
        )
        assert (answers[0], answers[2]) == (RunCreated(), None)
        found = await pair[1].assets.find(ACME, given.sha256)
        referenced = [
            [each.asset.sha256 for each in await pair[1].assets.page(ACME, AssetQuery(run_id=run.run_id))]
            for run in (new.key, old)
        ]
        deleted = given.key in await pair[0].assets.tombstones(100)
        assert deleted is (found is None)
        assert all(each == ([] if deleted else [given.sha256]) for each in referenced)
        if not deleted:
            assert found is not None
            assert found.runs == 1
        await pair[0].assets.clear_tombstones([given.key])


async def a_tenant_stays_below_its_registrations(pair: Pair) -> None:
    """Both stores register workflows of one tenant up to its limit; of one version, one registration is stored, and
    one version of a workflow is the current one."""
    for number in range(ROUNDS):
        tenant = f"tenant-{number}"
        given = [registration(f"w{at % 3}", f"1.{at // 2}", tenant=tenant) for at in range(12)]
        answers = await _at_once(pair[at % 2].definitions.register(each, b"{}", 4) for at, each in enumerate(given))
        assert answers.count(VersionRegistered()) == 4
        assert all(isinstance(each, VersionRegistered | VersionExists | RegistrationLimitReached) for each in answers)
        listed = await pair[1].definitions.workflows(tenant, None, 100)
        assert sum(len(each.versions) for each in listed) == 4
        same = registration("w9", "1.0", tenant=tenant)
        answers = await _at_once(store.definitions.register(same, b"{}", 100) for store in pair)
        assert sorted(map(str, answers)) == sorted([str(VersionExists(same)), str(VersionRegistered())])


async def a_run_stays_below_its_annotations(pair: Pair) -> None:
    """Both stores annotate one run up to its limit."""
    for number in range(ROUNDS):
        run = await make_run(pair[0], f"run-{number}", status="running")
        calls = [pair[at % 2].annotations.add(run, annotation(f"a{at}"), 5) for at in range(12)]
        answers = await _at_once(calls)
        assert Counter(answers) == {"added": 5, "full": 7}


async def no_message_waits_for_an_ended_parent(pair: Pair) -> None:
    """A parent ends in one store while its child leaves a result in the other: no result remains."""
    for number in range(ROUNDS):
        parent = await make_run(pair[0], f"run-{number}")
        (run,) = await create_children(pair[0], parent, -1, child(parent, f"child-{number}"))
        answers = await _at_once(
            [
                pair[0].log.append(parent, 0, batch(parent, 0, status="completed")),
                pair[1].log.append(run, -1, result_batch(run, -1)),
            ]
        )
        assert answers == [None, None]
        assert await pair[0].child_runs.child_results(None, 10) == []


async def no_request_waits_for_an_ended_child(pair: Pair) -> None:
    """Children end in one store while their parent asks the other to cancel them: no request remains."""
    for number in range(ROUNDS):
        parent = await make_run(pair[0], f"run-{number}")
        children = await create_children(
            pair[0], parent, -1, *(child(parent, f"child-{number}-{at}") for at in range(3))
        )
        requests = tuple(CancelRequest(run.run_id, "too late") for run in children)
        answers = await _at_once(
            [
                *(pair[0].log.append(run, -1, batch(run, -1, status="completed")) for run in children),
                pair[1].log.append(parent, 0, batch(parent, 0, cancel_requests=requests)),
            ]
        )
        assert answers == [None] * 4
        assert await pair[0].child_runs.cancel_requests(None, 10) == []


async def a_run_is_deleted_once(pair: Pair) -> None:
    """Of two deletions of one run, one returns True. An annotation that is added meanwhile belongs to the run or finds
    none; a fork has the whole prefix or finds no source."""
    for number in range(ROUNDS):
        run = await make_run(pair[0], f"run-{number}")
        assert await pair[0].log.append(run, -1, batch(run, -1, 3, "completed")) is None
        fork = fork_header(run, 2, f"fork-{number}")
        deleted, again, annotated, forked = await _at_once(
            [
                pair[0].retention.delete(run, NOW),
                pair[1].retention.delete(run, NOW),
                pair[0].annotations.add(run, annotation(), 5),
                pair[1].forks.create(fork, fork_batch(run, 2, fork.run_id)),
            ]
        )
        assert sorted([deleted, again]) == [False, True]
        assert annotated in ("added", "absent")
        assert await pair[1].log.read_run(run) is None
        assert await pair[1].annotations.page(run, None, 10, 1000) is None
        copied = len(await pair[0].log.read(fork.key, -1, 10))
        assert (copied == 3) is (forked == RunCreated())
        assert (copied == 0) is isinstance(forked, SourceMissing)
    await purge(pair[0])


async def the_salt_is_created_once(pair: Pair) -> None:
    """Both stores ask for the salt for the first time, and get the same one."""
    salts = await _at_once(pair[at % 2].keys.salt() for at in range(8))
    assert len(set(salts)) == 1


async def what_one_store_writes_the_other_reads(pair: Pair) -> None:
    """A write that one store has acknowledged is visible to the next call of the other one, on every port."""
    first, second = pair
    given = asset("a", OTHER)
    await first.assets.add(given)
    run = await make_run(first, partition=OTHER, status="running", assets=(digest("a"),), tags=("t",))
    found = await second.log.read_run(run)
    assert found is not None
    assert found.projection.last_sequence == 0
    assert (await second.queries.list_runs(OTHER, RunQuery(tags=("t",)))).runs[0].header.run_id == run.run_id
    assert await second.ownership.newest_run() == run
    assert [each.asset.sha256 for each in await second.assets.page(OTHER, AssetQuery(run_id=run.run_id))] == [
        digest("a")
    ]
    assert await second.log.append(run, 0, batch(run, 0, status="completed")) is None
    assert await first.queries.list_runs(OTHER, RunQuery(statuses=("running",))) == await second.queries.list_runs(
        OTHER, RunQuery(statuses=("running",))
    )
    assert isinstance(await catch(first.log.append(run, 0, batch(run, 0))), SequenceConflict)
    assert await second.retention.runs_ended_before(NOW + 100, 10) == [run]
    assert await second.retention.delete(run, NOW) is True
    assert await first.log.read_run(run) is None
