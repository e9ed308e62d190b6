"""Checks of idempotency records: one outcome per slot, committed together with the change that it describes."""

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
    """A record that is passed to `create` or `append` is stored unchanged when the call returns."""
    assert await store.log.create(header(), record=record("one", outcome=b"\x00\xff")) == RunCreated()
    assert await store.records.find_record(ACME, "one", NOW) == record("one", outcome=b"\x00\xff")
    run = header().key
    assert await store.log.append(run, -1, batch(run, -1, record=record("two"))) is None
    assert await store.records.find_record(ACME, "two", NOW) == record("two")


async def a_taken_slot_makes_no_run(store: Store) -> None:
    """`create` returns SlotTaken with the existing record, and writes nothing."""
    await store.log.create(header(), record=record())
    rival = record(fingerprint="other", outcome=b"other", created_at=NOW + 1)
    answer = await store.log.create(header("run-b"), (HiddenValue(-1, "", b"1"),), rival)
    assert answer == SlotTaken(record())
    assert await state_of(store, header("run-b").key) == (None, [], [])
    assert await store.records.find_record(ACME, "slot-1", 0) == record()


async def a_taken_slot_adds_no_events(store: Store) -> None:
    """`append` returns SlotTaken with the existing record, and writes nothing."""
    run = await make_run(store)
    await store.records.save_record(record())
    before = await state_of(store, run)
    rows, hidden = (StateRow("node", "n", b"1"),), (HiddenValue(0, "/a", b"1"),)
    given = batch(run, -1, 3, rows=rows, hidden=hidden, record=record(fingerprint="other"))
    assert await store.log.append(run, -1, given) == SlotTaken(record())
    assert await state_of(store, run) == before


async def the_slot_is_looked_at_first(store: Store) -> None:
    """The slot is checked before the scope, the sequence and the status, so a retry always gets its recorded
    outcome."""
    run = await make_run(store, scope_id="scope")
    await store.records.save_record(record())
    assert await store.log.create(header("run-b", scope_id="scope"), (), record(), True) == SlotTaken(record())
    for expected in (-1, 7):
        assert await store.log.append(run, expected, batch(run, expected, record=record())) == SlotTaken(record())
    await store.log.append(run, -1, batch(run, -1, status="cancelled"))
    assert await store.log.append(run, 0, batch(run, 0, record=record())) == SlotTaken(record())


async def one_of_many_takes_a_slot(store: Store) -> None:
    """Of 64 concurrent creations with one slot, one creates a run, and the others return SlotTaken with its record."""
    outcomes = [record(outcome=b"%d" % number) for number in range(64)]
    creating = (store.log.create(header(f"run-{number}"), (), given) for number, given in enumerate(outcomes))
    answers = await asyncio.gather(*creating)
    winners = [number for number, answer in enumerate(answers) if answer == RunCreated()]
    assert len(winners) == 1
    assert Counter(map(repr, answers)) == {repr(RunCreated()): 1, repr(SlotTaken(outcomes[winners[0]])): 63}
    assert await run_ids(store, RunQuery(limit=100)) == [f"run-{winners[0]}"]


async def a_record_can_stand_alone(store: Store) -> None:
    """`save_record` stores a record once. Later calls for the slot return SlotTaken with the first record."""
    assert await store.records.find_record(ACME, "slot-1", 0) is None
    assert await store.records.save_record(record()) is None
    assert await store.records.save_record(record(outcome=b"other")) == SlotTaken(record())
    assert await store.records.find_record(ACME, "slot-1", 0) == record()
    saving = (store.records.save_record(record("slot-2", outcome=b"%d" % at)) for at in range(16))
    answers = await asyncio.gather(*saving)
    assert answers.count(None) == 1


async def an_old_record_is_not_recalled(store: Store) -> None:
    """`find_record` ignores a record that is older than `not_before`, but not one of exactly that time."""
    await store.records.save_record(record())
    assert await store.records.find_record(ACME, "slot-1", NOW - 1) == record()
    assert await store.records.find_record(ACME, "slot-1", NOW) == record()
    assert await store.records.find_record(ACME, "slot-1", NOW + 1) is None


async def an_expired_record_is_replaced(store: Store) -> None:
    """A record older than `expired_before` no longer holds its slot. The new record replaces it, also before a
    sweep."""
    await store.records.save_record(record())
    late = record(outcome=b"late", created_at=NOW + 5, expired_before=NOW + 1)
    assert await store.log.create(header(), record=late) == RunCreated()
    assert await store.records.find_record(ACME, "slot-1", 0) == record(outcome=b"late", created_at=NOW + 5)
    assert await store.records.sweep(NOW + 1) == 0
    assert await store.records.save_record(record(expired_before=NOW + 5)) == SlotTaken(
        record(outcome=b"late", created_at=NOW + 5)
    )


async def old_records_are_swept(store: Store) -> None:
    """`sweep` deletes exactly the records older than the given time and returns their number. Each call does bounded
    work, so several calls may be needed. A swept slot is free again."""
    for age in range(30):
        await store.records.save_record(record(f"slot-{age}", created_at=NOW - age))
    swept = 0
    while count := await store.records.sweep(NOW - 9):
        swept += count
    assert swept == 20
    left = [age for age in range(30) if await store.records.find_record(ACME, f"slot-{age}", 0) is not None]
    assert left == list(range(10))
    assert await store.log.create(header(), record=record("slot-20")) == RunCreated()
