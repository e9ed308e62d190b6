"""Checks of `EventLog.create`."""

import asyncio
from collections import Counter
from typing import Any, Final

import msgspec

from weftwork.ports.eventlog import (
    Active,
    Created,
    Hidden,
    Projection,
    Recorded,
    RunQuery,
    SequenceConflict,
    StateRow,
    Stored,
)
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run import Owner, RunHeader, Status
from weftwork.testing.storage.sample import ACME, OTHER, batch, header, make_run, record, state_of
from weftwork.testing.storage.store import Check, Store, raised


async def a_new_run_is_pending_and_empty(store: Store) -> None:
    """A created run has status pending, last sequence -1, no events, no rows and the header it was given."""
    assert await store.log.create(header()) == Created()
    assert await store.log.stored(header().key) == Stored(header(), Projection("pending", -1))
    assert await store.log.read(header().key, -1, 10) == []
    assert await store.log.hidden(header().key) == []


async def a_run_comes_with_its_first_batch(store: Store) -> None:
    """A first batch is there as if it had been appended, and the next append follows it."""
    for status in ("running", "completed"):
        given = header(status)
        parts: dict[str, Any] = {
            "rows": (StateRow("node", "n", b"{}"), StateRow("variable", "v", b"1")),
            "hidden": (Hidden(1, "/b", b"2"),),
        }
        first = batch(given.key, -1, 3, status, **parts)
        assert await store.log.create(given, (Hidden(-1, "/a", b"1"),), record(status), first=first) == Created()
        other = header(f"other-{status}")
        assert await store.log.create(other, (Hidden(-1, "/a", b"1"),)) == Created()
        assert await store.log.append(other.key, -1, batch(other.key, -1, 3, status, **parts)) is None
        stored, events, hidden = await state_of(store, given.key)
        expected, other_events, other_hidden = await state_of(store, other.key)
        assert (stored.projection, stored.rows, hidden) == (expected.projection, expected.rows, other_hidden)
        assert [item | {"run_id": ""} for item in events] == [item | {"run_id": ""} for item in other_events]
        assert (stored.header, [item["sequence"] for item in events]) == (given, [0, 1, 2])
        assert await store.log.recall(ACME, status, 0) == record(status)
    running, ended = header("running").key, header("completed").key
    assert running in await store.log.unfinished(None, 10)
    assert ended not in await store.log.unfinished(None, 10)
    assert await store.log.append(running, 2, batch(running, 2)) is None
    assert isinstance(await raised(store.log.append(ended, 2, batch(ended, 2))), SequenceConflict)


async def a_refused_run_leaves_nothing_of_its_first_batch(store: Store) -> None:
    """Slot taken, scope taken, id in use or an unsound batch: neither run nor events are there."""
    await make_run(store, "live", scope_id="scope")
    await store.log.remember(record())
    given = header("next", scope_id="scope")
    first = batch(given.key, -1, 2, rows=(StateRow("node", "n", b"{}"),), hidden=(Hidden(0, "/a", b"1"),))
    assert await store.log.create(given, (), record(), first=first) == Recorded(record())
    assert await store.log.create(given, (), None, True, first) == Active("live")
    for unsound in (
        batch(given.key, 0),
        batch(header("else").key, -1),
        batch(given.key, -1, record=record("own")),
        msgspec.structs.replace(first, projection=Projection("running", 7)),
    ):
        assert isinstance(await raised(store.log.create(given, first=unsound)), HostFault)
    assert await state_of(store, given.key) == (None, [], [])
    assert await store.log.recall(ACME, "own", 0) is None
    before = await state_of(store, header("live").key)
    again = batch(header("live").key, -1, 2)
    assert await raised(store.log.create(header("live"), first=again)) is not None
    assert await state_of(store, header("live").key) == before


async def a_header_comes_back_whole(store: Store) -> None:
    """Every field of a header survives, with the types and the text of its JSON values."""
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
    found = await store.log.stored(given.key)
    assert found is not None
    assert found.header == given
    assert repr(found.header.inputs) == repr(values)


async def a_header_is_not_shared_with_the_caller(store: Store) -> None:
    """What is done to a header after it was given, or to one that was read, does not change the store."""
    inputs = {"name": "first"}
    given = header(inputs=inputs)
    await store.log.create(given)
    inputs["name"] = "second"
    for _ in range(2):
        found = await store.log.stored(given.key)
        assert found is not None
        assert found.header.inputs == {"name": "first"}
        found.header.inputs["name"] = "third"


async def a_run_id_is_used_once(store: Store) -> None:
    """A second run of the same partition and id is refused and changes nothing."""
    run = await make_run(store, status="running", inputs={"first": True})
    before = await state_of(store, run)
    error = await raised(store.log.create(header(inputs={"second": True}), (Hidden(-1, "/second", b"1"),), record()))
    assert error is not None
    assert await state_of(store, run) == before
    assert await store.log.recall(ACME, "slot-1", 0) is None
    assert len((await store.log.list_runs(ACME, RunQuery())).runs) == 1


async def a_live_run_keeps_its_scope(store: Store) -> None:
    """With `exclusive`, a live run of the same partition and scope answers Active and nothing is written."""
    for number, status in enumerate[Status](("pending", "running", "waiting-input", "cancelling")):
        scope = f"scope-{number}"
        await make_run(store, f"run-{number}", status=status, scope_id=scope)
        second = header(f"second-{number}", scope_id=scope)
        taken = await store.log.create(second, (Hidden(-1, "", b"1"),), record(), exclusive=True)
        assert taken == Active(f"run-{number}")
        assert await state_of(store, second.key) == (None, [], [])
        assert await store.log.recall(ACME, "slot-1", 0) is None


async def a_scope_is_free_again_after_the_end(store: Store) -> None:
    """Ended runs, other scopes and other partitions do not keep a scope; without `exclusive` nobody asks."""
    for number, status in enumerate[Status](("completed", "failed", "cancelled")):
        await make_run(store, f"run-{number}", status=status, scope_id="scope")
    await make_run(store, "other", partition=OTHER, scope_id="scope")
    await make_run(store, "wide", scope_id="scope-2")
    await make_run(store, "none")
    assert await store.log.create(header("next", scope_id="scope"), exclusive=True) == Created()
    assert await store.log.create(header("free", scope_id="scope")) == Created()


async def no_scope_is_a_scope(store: Store) -> None:
    """Runs without a scope are one scope of their own."""
    await make_run(store, "scoped", scope_id="scope")
    assert await store.log.create(header("first"), exclusive=True) == Created()
    assert await store.log.create(header("second"), exclusive=True) == Active("first")
    first = header("first").key
    await store.log.append(first, -1, batch(first, -1, status="cancelled"))
    assert await store.log.create(header("third"), exclusive=True) == Created()


async def one_of_many_takes_a_scope(store: Store) -> None:
    """Of concurrent exclusive creations in one scope exactly one makes a run; the others name it."""
    headers = [header(f"run-{number}", scope_id="scope") for number in range(32)]
    answers = await asyncio.gather(*(store.log.create(given, exclusive=True) for given in headers))
    made = [given.run_id for given, answer in zip(headers, answers, strict=True) if answer == Created()]
    assert len(made) == 1
    assert Counter(answer for answer in answers if answer != Created()) == {Active(made[0]): 31}
    page = await store.log.list_runs(ACME, RunQuery())
    assert [found.header.run_id for found in page.runs] == made


CHECKS: Final[tuple[Check, ...]] = (
    a_new_run_is_pending_and_empty,
    a_run_comes_with_its_first_batch,
    a_refused_run_leaves_nothing_of_its_first_batch,
    a_header_comes_back_whole,
    a_header_is_not_shared_with_the_caller,
    a_run_id_is_used_once,
    a_live_run_keeps_its_scope,
    a_scope_is_free_again_after_the_end,
    no_scope_is_a_scope,
    one_of_many_takes_a_scope,
)
