"""Checks of `EventLog.append`: order, atomicity and refusal."""

import asyncio
from typing import Final

import msgspec

from weftwork.ports.eventlog import Batch, Hidden, Projection, SequenceConflict, Spawn, StateRow, Told
from weftwork.protocol.events import Event
from weftwork.protocol.run import Parent, RunKey, Status
from weftwork.testing.storage.sample import (
    ACME,
    NOW,
    OTHER,
    batch,
    event,
    fields_of,
    header,
    make_run,
    record,
    state_of,
)
from weftwork.testing.storage.store import Check, Store, raised


async def sequences_have_no_gaps(store: Store) -> None:
    """Appends of any size give sequence 0, 1, 2, ... and the projection of the last one is kept."""
    run = await make_run(store)
    expected = -1
    for count in (1, 4, 1, 30, 2):
        given = batch(run, expected, count)
        assert await store.log.append(run, expected, given) is None
        expected += count
        found = await store.log.stored(run)
        assert found is not None
        assert found.projection == given.projection
    assert [item.sequence for item in await store.log.read(run, -1, 1000)] == list(range(expected + 1))


async def events_come_back_as_they_were(store: Store) -> None:
    """Every field of an event survives, and its payload byte for byte."""
    run = await make_run(store)
    events = [
        event(run, 0, payload=b"{}", type="run.started"),
        event(run, 1, payload=b'{ "spaced" : 1.0 }', node_id="node-1", causation_id="cause-1"),
        event(run, 2, payload='{"text":"Zoë \\u0000"}'.encode(), schema_version=3, engine_version=4),
        event(run, 3, payload=b'{"large":"' + b"x" * 300_000 + b'"}', timestamp=2**45, node_id=""),
    ]
    await store.log.append(run, -1, Batch(tuple(events), Projection("running", 3)))
    assert fields_of(await store.log.read(run, -1, 10)) == fields_of(events)


async def a_projection_comes_back_as_it_was(store: Store) -> None:
    """Every field of a projection survives, null or not, whatever it was before."""
    run = await make_run(store)
    full = Projection("failed", 2, NOW, NOW + 1, "node-2", b'{"code":"node_failed"}', 17, b'{"a":{}}')
    for projection in (
        Projection("running", 0, NOW, None, "node-1", b"{}", 3),
        Projection("waiting-external", 1),
        full,
    ):
        await store.log.append(run, projection.last_sequence - 1, _one(run, projection))
        found = await store.log.stored(run)
        assert found is not None
        assert found.projection == projection


async def a_conflict_writes_nothing(store: Store) -> None:
    """An append that expects any but the last sequence raises SequenceConflict and leaves no trace."""
    run = await make_run(store)
    await store.log.append(run, -1, batch(run, -1, 3))
    before = await state_of(store, run)
    for expected in (-1, 0, 1, 3, 1000):
        given = batch(run, expected, 2, "completed", (StateRow("node", "n", b"1"),), (Hidden(0, "/a", b"1"),), record())
        assert isinstance(await raised(store.log.append(run, expected, given)), SequenceConflict)
        assert await state_of(store, run) == before
        assert await store.log.recall(ACME, "slot-1", 0) is None


async def an_unknown_run_is_a_conflict(store: Store) -> None:
    """An append to a run that is not there raises SequenceConflict and makes none."""
    run = header().key
    assert isinstance(await raised(store.log.append(run, -1, batch(run, -1))), SequenceConflict)
    assert await state_of(store, run) == (None, [], [])


async def nothing_follows_the_end(store: Store) -> None:
    """A run whose status is terminal takes no more events, even at the right sequence."""
    for number, status in enumerate[Status](("completed", "failed", "cancelled")):
        run = await make_run(store, f"run-{number}", status=status)
        before = await state_of(store, run)
        for after_end in (batch(run, 0), batch(run, 0, status="completed")):
            assert isinstance(await raised(store.log.append(run, 0, after_end)), SequenceConflict)
        assert await state_of(store, run) == before


async def one_of_many_appenders_wins(store: Store) -> None:
    """Of concurrent appends with the same `expected` exactly one is stored; the others raise SequenceConflict."""
    run = await make_run(store)
    for expected in range(-1, 9):
        rivals = [_one(run, Projection("running", expected + 1), f"{expected}-{rival}") for rival in range(16)]
        ends = await asyncio.gather(*(raised(store.log.append(run, expected, rival)) for rival in rivals))
        won = [rival for rival, end in zip(rivals, ends, strict=True) if end is None]
        assert len(won) == 1
        assert sum(isinstance(end, SequenceConflict) for end in ends) == 15
        assert fields_of(await store.log.read(run, expected, 10)) == fields_of(list(won[0].events))


async def runs_do_not_disturb_each_other(store: Store) -> None:
    """Concurrent appends to different runs all happen, each in its own order."""

    async def fill(run: RunKey) -> None:
        for expected in range(-1, 9):
            assert await store.log.append(run, expected, batch(run, expected)) is None

    runs = [await make_run(store, f"run-{number}", OTHER if number % 2 else ACME) for number in range(24)]
    await asyncio.gather(*map(fill, runs))
    for run in runs:
        events = await store.log.read(run, -1, 100)
        assert [(item.run_id, item.sequence) for item in events] == [(run.run_id, at) for at in range(10)]


async def an_inconsistent_batch_is_refused_whole(store: Store) -> None:
    """Events with a gap or of another run, a projection that does not fit them, a completion time without an
    end, an end without a completion time, another partition's record, another run's child or word: an exception,
    and no trace."""
    run = await make_run(store)
    await store.log.append(run, -1, batch(run, -1))
    before = await state_of(store, run)
    good = batch(run, 0, 2)
    kinship = Parent(run.run_id, "n", "k", "core.dispatch", run.run_id)
    for bad in (
        msgspec.structs.replace(good, events=(event(run, 1), event(run, 3))),
        msgspec.structs.replace(good, events=(event(run, 0), event(run, 1))),
        msgspec.structs.replace(good, events=(event(run, 1), event(header("other").key, 2))),
        msgspec.structs.replace(good, projection=Projection("running", 1)),
        msgspec.structs.replace(good, projection=Projection("running", 2, completed_at=NOW)),
        msgspec.structs.replace(good, projection=Projection("completed", 2)),
        msgspec.structs.replace(good, record=record(partition=OTHER)),
        msgspec.structs.replace(good, spawns=(Spawn(header("child")),)),
        msgspec.structs.replace(good, spawns=(Spawn(header("child", parent=Parent("b", "n", "k", "c", "b"))),)),
        msgspec.structs.replace(good, spawns=(Spawn(header("child", OTHER, parent=kinship)),)),
        msgspec.structs.replace(good, tells=Told("child", "n", "k", 0, "running")),
    ):
        assert await raised(store.log.append(run, 0, bad)) is not None
        assert await state_of(store, run) == before
    assert await store.log.recall(OTHER, "slot-1", 0) is None
    for partition in (ACME, OTHER):
        assert await store.log.stored(RunKey(partition, "child")) is None
    assert await store.log.append(run, 0, good) is None


async def a_cancelled_caller_leaves_all_or_nothing(store: Store) -> None:
    """Cancelling the caller of an append does not tear it: it has happened as a whole or not at all."""
    for number in range(20):
        run = await make_run(store, f"run-{number}")
        given = batch(run, -1, 5, rows=(StateRow("variable", "v", b"1"),), record=record(f"slot-{number}"))
        appending = asyncio.ensure_future(store.log.append(run, -1, given))
        for _ in range(number % 4):
            await asyncio.sleep(0)
        appending.cancel()
        await asyncio.wait([appending])
        # Everything that was given to the store before this write is settled when this write is.
        await make_run(store, f"barrier-{number}")
        found = await store.log.stored(run)
        assert found is not None
        events = len(await store.log.read(run, -1, 10))
        recorded = await store.log.recall(ACME, f"slot-{number}", 0)
        seen = (found.projection.last_sequence, len(found.rows), events, recorded is not None)
        assert seen in ((-1, 0, 0, False), (4, 1, 5, True))


def _one(run: RunKey, projection: Projection, event_id: str = "event") -> Batch:
    given: Event = event(run, projection.last_sequence, event_id=event_id)
    return Batch((given,), projection)


CHECKS: Final[tuple[Check, ...]] = (
    sequences_have_no_gaps,
    events_come_back_as_they_were,
    a_projection_comes_back_as_it_was,
    a_conflict_writes_nothing,
    an_unknown_run_is_a_conflict,
    nothing_follows_the_end,
    one_of_many_appenders_wins,
    runs_do_not_disturb_each_other,
    an_inconsistent_batch_is_refused_whole,
    a_cancelled_caller_leaves_all_or_nothing,
)
