"""Checks of `EventLog.append` and `EventLog.create`: order, atomicity and refusal."""

import asyncio
from collections import Counter
from typing import Any

from msgspec.structs import replace

from weftwork.ports.storage.event_log import RunCreated, ScopeTaken, SequenceConflict
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import Batch, ChildCreate, ChildResult, HiddenValue
from weftwork.protocol.run.header import Owner, Parent, RunHeader, RunKey, Status
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun
from weftwork.testing.storage.forks import fork_batch, fork_header, fork_ids, make_source
from weftwork.testing.storage.harness import Store, catch, fields_of, run_ids, state_of, stored_run
from weftwork.testing.storage.samples import ACME, NOW, OTHER, batch, event, header, make_run, record, unfinished


async def sequences_have_no_gaps(store: Store) -> None:
    """Appends of any size produce the sequences 0, 1, 2, ..., and the last projection is stored."""
    run = await make_run(store)
    expected = -1
    for count in (1, 4, 1, 30, 2):
        given = batch(run, expected, count)
        assert await store.log.append(run, expected, given) is None
        expected += count
        assert (await stored_run(store, run)).projection == given.projection
    assert [item.sequence for item in await store.log.read(run, -1, 1000)] == list(range(expected + 1))


async def events_come_back_as_they_were(store: Store) -> None:
    """Every field of an event is stored unchanged, its payload byte for byte."""
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
    """Every field of a projection is stored unchanged, including None, and replaces its earlier value."""
    run = await make_run(store)
    full = Projection("failed", 2, NOW, NOW + 1, "node-2", b'{"code":"node_failed"}', 17, b'{"a":{}}')
    for projection in (
        Projection("running", 0, NOW, None, "node-1", b"{}", 3),
        Projection("waiting-external", 1),
        full,
    ):
        await store.log.append(run, projection.last_sequence - 1, _single_event_batch(run, projection))
        assert (await stored_run(store, run)).projection == projection


async def a_conflict_writes_nothing(store: Store) -> None:
    """An append with an `expected` other than the last sequence raises SequenceConflict and writes nothing."""
    run = await make_run(store)
    await store.log.append(run, -1, batch(run, -1, 3))
    before = await state_of(store, run)
    for expected in (-1, 0, 1, 3, 1000):
        given = batch(
            run, expected, 2, "completed", (StateRow("node", "n", b"1"),), (HiddenValue(0, "/a", b"1"),), record()
        )
        assert isinstance(await catch(store.log.append(run, expected, given)), SequenceConflict)
        assert await state_of(store, run) == before
        assert await store.records.find_record(ACME, "slot-1", 0) is None


async def an_unknown_run_is_a_conflict(store: Store) -> None:
    """An append to an unknown run raises SequenceConflict and does not create the run."""
    run = header().key
    assert isinstance(await catch(store.log.append(run, -1, batch(run, -1))), SequenceConflict)
    assert await state_of(store, run) == (None, [], [])


async def nothing_follows_the_end(store: Store) -> None:
    """A run with a terminal status accepts no more events, even at the right sequence."""
    for number, status in enumerate[Status](("completed", "failed", "cancelled")):
        run = await make_run(store, f"run-{number}", status=status)
        before = await state_of(store, run)
        for after_end in (batch(run, 0), batch(run, 0, status="completed")):
            assert isinstance(await catch(store.log.append(run, 0, after_end)), SequenceConflict)
        assert await state_of(store, run) == before


async def one_of_many_appenders_wins(store: Store) -> None:
    """Of concurrent appends with the same `expected`, exactly one is stored. The others raise SequenceConflict."""
    run = await make_run(store)
    for expected in range(-1, 9):
        rivals = [
            _single_event_batch(run, Projection("running", expected + 1), f"{expected}-{rival}") for rival in range(16)
        ]
        ends = await asyncio.gather(*(catch(store.log.append(run, expected, rival)) for rival in rivals))
        winners = [rival for rival, end in zip(rivals, ends, strict=True) if end is None]
        assert len(winners) == 1
        assert sum(isinstance(end, SequenceConflict) for end in ends) == 15
        assert fields_of(await store.log.read(run, expected, 10)) == fields_of(list(winners[0].events))


async def runs_do_not_disturb_each_other(store: Store) -> None:
    """Concurrent appends to different runs all succeed, each run in its own order."""

    async def fill(run: RunKey) -> None:
        for expected in range(-1, 9):
            assert await store.log.append(run, expected, batch(run, expected)) is None

    runs = [await make_run(store, f"run-{number}", OTHER if number % 2 else ACME) for number in range(24)]
    await asyncio.gather(*map(fill, runs))
    for run in runs:
        events = await store.log.read(run, -1, 100)
        assert [(item.run_id, item.sequence) for item in events] == [(run.run_id, at) for at in range(10)]


async def an_inconsistent_batch_is_refused_whole(store: Store) -> None:
    """An inconsistent batch raises an exception and writes nothing: events with a gap or of another run, a projection
    with another last sequence, a completion time without a terminal status or the reverse, a record of another
    partition, or a child or child result of another run."""
    run = await make_run(store)
    await store.log.append(run, -1, batch(run, -1))
    before = await state_of(store, run)
    good = batch(run, 0, 2)
    parent_link = Parent(run.run_id, "n", "k", "core.dispatch", run.run_id)
    for bad in (
        replace(good, events=(event(run, 1), event(run, 3))),
        replace(good, events=(event(run, 0), event(run, 1))),
        replace(good, events=(event(run, 1), event(header("other").key, 2))),
        replace(good, projection=Projection("running", 1)),
        replace(good, projection=Projection("running", 2, completed_at=NOW)),
        replace(good, projection=Projection("completed", 2)),
        replace(good, record=record(partition=OTHER)),
        replace(good, child_creates=(ChildCreate(header("child")),)),
        replace(good, child_creates=(ChildCreate(header("child", parent=Parent("b", "n", "k", "c", "b"))),)),
        replace(good, child_creates=(ChildCreate(header("child", OTHER, parent=parent_link)),)),
        replace(good, child_result=ChildResult("child", "n", "k", 0, "running")),
    ):
        assert await catch(store.log.append(run, 0, bad)) is not None
        assert await state_of(store, run) == before
    assert await store.records.find_record(OTHER, "slot-1", 0) is None
    for partition in (ACME, OTHER):
        assert await store.log.read_run(RunKey(partition, "child")) is None
    assert await store.log.append(run, 0, good) is None


async def a_cancelled_caller_leaves_all_or_nothing(store: Store) -> None:
    """An append whose caller is cancelled is atomic: it is stored completely or not at all."""
    for number in range(20):
        run = await make_run(store, f"run-{number}")
        given = batch(run, -1, 5, rows=(StateRow("variable", "v", b"1"),), record=record(f"slot-{number}"))
        appending = asyncio.ensure_future(store.log.append(run, -1, given))
        for _ in range(number % 4):
            await asyncio.sleep(0)
        appending.cancel()
        await asyncio.wait([appending])
        # The store completes writes in order, so the cancelled append is decided once this write returns.
        await make_run(store, f"barrier-{number}")
        found = await stored_run(store, run)
        events = len(await store.log.read(run, -1, 10))
        recorded = await store.records.find_record(ACME, f"slot-{number}", 0)
        seen = (found.projection.last_sequence, len(found.rows), events, recorded is not None)
        assert seen in ((-1, 0, 0, False), (4, 1, 5, True))


def _single_event_batch(run: RunKey, projection: Projection, event_id: str = "event") -> Batch:
    return Batch((event(run, projection.last_sequence, event_id=event_id),), projection)


async def a_new_run_is_pending_and_empty(store: Store) -> None:
    """A new run has its header, the status pending, the last sequence -1, no events and no rows."""
    assert await store.log.create(header()) == RunCreated()
    assert await store.log.read_run(header().key) == StoredRun(header(), Projection("pending", -1))
    assert await store.log.read(header().key, -1, 10) == []
    assert await store.log.hidden_values(header().key) == []


async def a_run_comes_with_its_first_batch(store: Store) -> None:
    """A first batch has the same effect as an append after `create`, and the next append follows it."""
    for status in ("running", "completed"):
        given = header(status)
        parts: dict[str, Any] = {
            "rows": (StateRow("node", "n", b"{}"), StateRow("variable", "v", b"1")),
            "hidden": (HiddenValue(1, "/b", b"2"),),
        }
        first = batch(given.key, -1, 3, status, **parts)
        assert (
            await store.log.create(given, (HiddenValue(-1, "/a", b"1"),), record(status), first=first) == RunCreated()
        )
        other = header(f"other-{status}")
        assert await store.log.create(other, (HiddenValue(-1, "/a", b"1"),)) == RunCreated()
        assert await store.log.append(other.key, -1, batch(other.key, -1, 3, status, **parts)) is None
        stored, events, hidden = await state_of(store, given.key)
        expected, other_events, other_hidden = await state_of(store, other.key)
        assert (stored.projection, stored.rows, hidden) == (expected.projection, expected.rows, other_hidden)
        assert [item | {"run_id": ""} for item in events] == [item | {"run_id": ""} for item in other_events]
        assert (stored.header, [item["sequence"] for item in events]) == (given, [0, 1, 2])
        assert await store.records.find_record(ACME, status, 0) == record(status)
    running, ended = header("running").key, header("completed").key
    assert running in await unfinished(store, None, 10)
    assert ended not in await unfinished(store, None, 10)
    assert await store.log.append(running, 2, batch(running, 2)) is None
    assert isinstance(await catch(store.log.append(ended, 2, batch(ended, 2))), SequenceConflict)


async def a_refused_run_leaves_nothing_of_its_first_batch(store: Store) -> None:
    """A refused `create` stores neither the run nor events: a taken slot or scope, a run id in use, or an inconsistent
    batch."""
    await make_run(store, "live", scope_id="scope")
    await store.records.save_record(record())
    given = header("next", scope_id="scope")
    first = batch(given.key, -1, 2, rows=(StateRow("node", "n", b"{}"),), hidden=(HiddenValue(0, "/a", b"1"),))
    assert await store.log.create(given, (), record(), first=first) == SlotTaken(record())
    assert await store.log.create(given, (), None, True, first) == ScopeTaken("live")
    for inconsistent in (
        batch(given.key, 0),
        batch(header("else").key, -1),
        batch(given.key, -1, record=record("own")),
        replace(first, projection=Projection("running", 7)),
    ):
        assert isinstance(await catch(store.log.create(given, first=inconsistent)), HostFault)
    assert await state_of(store, given.key) == (None, [], [])
    assert await store.records.find_record(ACME, "own", 0) is None
    before = await state_of(store, header("live").key)
    again = batch(header("live").key, -1, 2)
    assert await catch(store.log.create(header("live"), first=again)) is not None
    assert await state_of(store, header("live").key) == before


async def a_header_comes_back_whole(store: Store) -> None:
    """Every field of a header is stored unchanged, including the types and texts of its JSON values."""
    values: dict[str, Any] = {
        "text": 'Zoë \u0000 \U0001f9f5 "quoted"',
        "numbers": [0, -1, 1.0, 0.1, 1e300, 2**53, -(2**63)],
        "nothing": None,
        "nested": {"": [{"yes": True, "no": False}, []]},
    }
    given = RunHeader(
        run_id="run-a",
        partition=ACME,
        owner=Owner("acme", "key-7"),
        workflow_id="wörk.flow",
        definition="1" * 64,
        created_at=1,
        inputs=values,
        configurable={"model": values},
        tags=("b", "a", "ü"),
        metadata={"large": "x" * 100_000},
        scope_id="scope",
        callback_url="https://example.org/hook?a=b",
        traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01",
        transport="other",
        engine_version=7,
        event_log_schema_version=8,
    )
    await store.log.create(given)
    found = await stored_run(store, given.key)
    assert found.header == given
    assert repr(found.header.inputs) == repr(values)


async def a_header_is_not_shared_with_the_caller(store: Store) -> None:
    """Changing a header after `create`, or one that was read, does not change the store."""
    inputs = {"name": "first"}
    given = header(inputs=inputs)
    await store.log.create(given)
    inputs["name"] = "second"
    for _ in range(2):
        found = await stored_run(store, given.key)
        assert found.header.inputs == {"name": "first"}
        found.header.inputs["name"] = "third"


async def a_run_id_is_used_once(store: Store) -> None:
    """Creating a second run with the same partition and id raises an exception and changes nothing."""
    run = await make_run(store, status="running", inputs={"first": True})
    before = await state_of(store, run)
    error = await catch(
        store.log.create(header(inputs={"second": True}), (HiddenValue(-1, "/second", b"1"),), record())
    )
    assert error is not None
    assert await state_of(store, run) == before
    assert await store.records.find_record(ACME, "slot-1", 0) is None
    assert len((await store.queries.list_runs(ACME, RunQuery())).runs) == 1


async def a_live_run_keeps_its_scope(store: Store) -> None:
    """With `exclusive`, `create` returns ScopeTaken and writes nothing while the scope has a live run."""
    for number, status in enumerate[Status](("pending", "running", "waiting-input", "cancelling")):
        scope = f"scope-{number}"
        await make_run(store, f"run-{number}", status=status, scope_id=scope)
        second = header(f"second-{number}", scope_id=scope)
        taken = await store.log.create(second, (HiddenValue(-1, "", b"1"),), record(), exclusive=True)
        assert taken == ScopeTaken(f"run-{number}")
        assert await state_of(store, second.key) == (None, [], [])
        assert await store.records.find_record(ACME, "slot-1", 0) is None


async def a_scope_is_free_again_after_the_end(store: Store) -> None:
    """Ended runs, other scopes and other partitions do not occupy a scope. Without `exclusive`, scopes are not
    checked."""
    for number, status in enumerate[Status](("completed", "failed", "cancelled")):
        await make_run(store, f"run-{number}", status=status, scope_id="scope")
    await make_run(store, "other", partition=OTHER, scope_id="scope")
    await make_run(store, "wide", scope_id="scope-2")
    await make_run(store, "none")
    assert await store.log.create(header("next", scope_id="scope"), exclusive=True) == RunCreated()
    assert await store.log.create(header("free", scope_id="scope")) == RunCreated()


async def no_scope_is_a_scope(store: Store) -> None:
    """All runs without a scope id share one scope."""
    await make_run(store, "scoped", scope_id="scope")
    assert await store.log.create(header("first"), exclusive=True) == RunCreated()
    assert await store.log.create(header("second"), exclusive=True) == ScopeTaken("first")
    first = header("first").key
    await store.log.append(first, -1, batch(first, -1, status="cancelled"))
    assert await store.log.create(header("third"), exclusive=True) == RunCreated()


async def one_of_many_takes_a_scope(store: Store) -> None:
    """Of concurrent exclusive creations in one scope, exactly one creates a run. The others return ScopeTaken with its
    id."""
    headers = [header(f"run-{number}", scope_id="scope") for number in range(32)]
    answers = await asyncio.gather(*(store.log.create(given, exclusive=True) for given in headers))
    created = [given.run_id for given, answer in zip(headers, answers, strict=True) if answer == RunCreated()]
    assert len(created) == 1
    assert Counter(answer for answer in answers if answer != RunCreated()) == {ScopeTaken(created[0]): 31}
    assert await run_ids(store) == created


async def a_fork_takes_a_free_scope(store: Store) -> None:
    """`Forks.create` with `exclusive` returns ScopeTaken and writes nothing while the scope has a live run. The slot is
    checked before the scope, and the scope before the source. Of concurrent forks, exactly one is created."""
    source = await make_source(store)
    live = fork_header(source, 3, "live", scope_id="scope")
    assert await store.forks.create(live, fork_batch(source, 3, "live"), None, True) == RunCreated()
    other = fork_header(source, 3, "other", scope_id="scope")
    given = other, fork_batch(source, 3, "other"), record(), True
    assert await store.forks.create(*given) == ScopeTaken("live")
    assert await store.records.find_record(ACME, "slot-1", 0) is None
    gone = fork_header(RunKey(ACME, "nobody"), 3, "other", scope_id="scope")
    assert await store.forks.create(gone, *given[1:]) == ScopeTaken("live")
    assert await fork_ids(store, source) == ["live"]
    await store.log.append(live.key, 3, batch(live.key, 3, status="completed"))
    names = [f"fork-{number}" for number in range(8)]
    headers = [fork_header(source, 3, name, scope_id="scope") for name in names]
    calls = [store.forks.create(each, fork_batch(source, 3, each.run_id), None, True) for each in headers]
    outcomes = await asyncio.gather(*calls)
    (created,) = [name for name, outcome in zip(names, outcomes, strict=True) if outcome == RunCreated()]
    assert outcomes.count(ScopeTaken(created)) == len(names) - 1
    assert await fork_ids(store, source) == ["live", created]
    assert await store.forks.create(other, *given[1:3]) == RunCreated()
    assert await store.forks.create(*given) == SlotTaken(record())
