"""Checks of idempotency records: one outcome per slot, committed with what it is the outcome of."""

import asyncio
from collections import Counter

from weftwork.ports.storage.event_log import RunCreated
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.run.batch import HiddenValue
from weftwork.protocol.run.projection import StateRow
from weftwork.testing.storage.harness import Store, run_ids, state_of
from weftwork.testing.storage.samples import ACME, NOW, batch, header, make_run, record


async def a_record_is_stored_with_its_run(store: Store) -> None:
    """A record given to `create` or `append` is there when the call returns, as it was given."""
    assert await store.log.create(header(), record=record("one", outcome=b"\x00\xff")) == RunCreated()
    assert await store.records.find_record(ACME, "one", NOW) == record("one", outcome=b"\x00\xff")
    run = header().key
    assert await store.log.append(run, -1, batch(run, -1, record=record("two"))) is None
    assert await store.records.find_record(ACME, "two", NOW) == record("two")


async def a_taken_slot_makes_no_run(store: Store) -> None:
    """`create` answers SlotTaken with what the slot holds, and writes nothing."""
    await store.log.create(header(), record=record())
    rival = record(fingerprint="other", outcome=b"other", created_at=NOW + 1)
    answer = await store.log.create(header("run-b"), (HiddenValue(-1, "", b"1"),), rival)
    assert answer == SlotTaken(record())
    assert await state_of(store, header("run-b").key) == (None, [], [])
    assert await store.records.find_record(ACME, "slot-1", 0) == record()


async def a_taken_slot_adds_no_events(store: Store) -> None:
    """`append` answers SlotTaken with what the slot holds, and writes nothing."""
    run = await make_run(store)
    await store.records.save_record(record())
    before = await state_of(store, run)
    rows, hidden = (StateRow("node", "n", b"1"),), (HiddenValue(0, "/a", b"1"),)
    given = batch(run, -1, 3, rows=rows, hidden=hidden, record=record(fingerprint="other"))
    assert await store.log.append(run, -1, given) == SlotTaken(record())
    assert await state_of(store, run) == before


async def the_slot_is_looked_at_first(store: Store) -> None:
    """A retry gets its recorded outcome although the scope, the sequence or the end stands in its way."""
    run = await make_run(store, scope_id="scope")
    await store.records.save_record(record())
    assert await store.log.create(header("run-b", scope_id="scope"), (), record(), True) == SlotTaken(record())
    for expected in (-1, 7):
        assert await store.log.append(run, expected, batch(run, expected, record=record())) == SlotTaken(record())
    await store.log.append(run, -1, batch(run, -1, status="cancelled"))
    assert await store.log.append(run, 0, batch(run, 0, record=record())) == SlotTaken(record())


async def one_of_many_takes_a_slot(store: Store) -> None:
    """64 concurrent creations with one slot make one run, and the others get its record."""
    outcomes = [record(outcome=b"%d" % number) for number in range(64)]
    creating = (store.log.create(header(f"run-{number}"), (), given) for number, given in enumerate(outcomes))
    answers = await asyncio.gather(*creating)
    won = [number for number, answer in enumerate(answers) if answer == RunCreated()]
    assert len(won) == 1
    assert Counter(map(repr, answers)) == {repr(RunCreated()): 1, repr(SlotTaken(outcomes[won[0]])): 63}
    assert await run_ids(store, RunQuery(limit=100)) == [f"run-{won[0]}"]


async def a_record_can_stand_alone(store: Store) -> None:
    """`remember` stores a record once; afterwards it answers with the first and keeps it."""
    assert await store.records.find_record(ACME, "slot-1", 0) is None
    assert await store.records.save_record(record()) is None
    assert await store.records.save_record(record(outcome=b"other")) == SlotTaken(record())
    assert await store.records.find_record(ACME, "slot-1", 0) == record()
    saving = (store.records.save_record(record("slot-2", outcome=b"%d" % at)) for at in range(16))
    answers = await asyncio.gather(*saving)
    assert answers.count(None) == 1


async def an_old_record_is_not_recalled(store: Store) -> None:
    """`recall` leaves out a record made before `not_before`, and not one made at that instant."""
    await store.records.save_record(record())
    assert await store.records.find_record(ACME, "slot-1", NOW - 1) == record()
    assert await store.records.find_record(ACME, "slot-1", NOW) == record()
    assert await store.records.find_record(ACME, "slot-1", NOW + 1) is None


async def an_expired_record_is_replaced(store: Store) -> None:
    """A record made before `expired_before` no longer holds its slot; the new one does, sweep or no sweep."""
    await store.records.save_record(record())
    late = record(outcome=b"late", created_at=NOW + 5, expired_before=NOW + 1)
    assert await store.log.create(header(), record=late) == RunCreated()
    assert await store.records.find_record(ACME, "slot-1", 0) == record(outcome=b"late", created_at=NOW + 5)
    assert await store.records.sweep(NOW + 1) == 0
    assert await store.records.save_record(record(expired_before=NOW + 5)) == SlotTaken(
        record(outcome=b"late", created_at=NOW + 5)
    )


async def old_records_are_swept(store: Store) -> None:
    """`sweep` deletes the records made before the instant and no other, and says how many; it may need
    several calls, since each does bounded work. A swept slot is free again."""
    for age in range(30):
        await store.records.save_record(record(f"slot-{age}", created_at=NOW - age))
    swept = 0
    while count := await store.records.sweep(NOW - 9):
        swept += count
    assert swept == 20
    left = [age for age in range(30) if await store.records.find_record(ACME, f"slot-{age}", 0) is not None]
    assert left == list(range(10))
    assert await store.log.create(header(), record=record("slot-20")) == RunCreated()
