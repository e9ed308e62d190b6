"""Makes replays of runs, and compares their logs with those of their sources."""

from typing import Any

import msgspec

from tests.harness.engine_harness import EngineHarness
from weftwork.engine.run.append import make_redactor
from weftwork.engine.run.replay import load_state
from weftwork.engine.run.state_rows import stored_run
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import Fork, RunKey


async def create_replay(engine: EngineHarness, source: RunKey, from_seq: int = 0, name: str = "replay") -> RunKey:
    """A replay that has its prefix and nothing else."""
    log = engine.store.log
    stored = await log.read_run(source)
    assert stored is not None
    until = stored.projection.last_sequence
    before = stored.header.fork
    acts_as = before.acts_as if before is not None else source.run_id
    fork = Fork(source.run_id, from_seq, "replay", until, acts_as)
    key = RunKey(source.partition, f"{name}-{source.run_id}-{from_seq}")
    header = msgspec.structs.replace(stored.header, run_id=key.run_id, fork=fork, scope_id=None, parent=None)
    hidden = [each for each in await log.hidden_values(source) if each.sequence < from_seq]
    await log.create(header, tuple(each for each in hidden if each.sequence == -1))
    if from_seq > 0:
        events = [_of_run(each, key.run_id) for each in await log.read(source, -1, from_seq)]
        plan = await engine.catalog.pinned_plan(header.workflow_id, header.definition)
        state = await load_state(log, stored.header, plan, until=from_seq - 1)
        at = stored_run(state, make_redactor(state))
        kept = tuple(each for each in hidden if each.sequence >= 0)
        assert await log.append(key, -1, Batch(tuple(events), at.projection, at.rows, kept)) is None
    return key


def _of_run(event: Event, run_id: str) -> Event:
    payload = event.payload
    if event.type == "output.chunk":
        payload = msgspec.json.encode({**msgspec.json.decode(payload), "runId": run_id}, order="deterministic")
    return msgspec.structs.replace(event, run_id=run_id, payload=payload, _document=None, frames=None)


async def replay(engine: EngineHarness, source: RunKey, from_seq: int = 0, name: str = "replay") -> RunKey:
    """A replay that was executed."""
    key = await create_replay(engine, source, from_seq, name)
    await engine.executor._wake(key)
    return key


def compared(events: list[Event]) -> list[Any]:
    found: list[Any] = []
    for each in events:
        payload = msgspec.json.decode(each.payload)
        if each.type == "output.chunk":
            del payload["runId"]
        found.append((each.type, each.node_id, payload))
    return found


async def check_equal(engine: EngineHarness, source: RunKey, key: RunKey) -> None:
    """The replay is its source, apart from the run and the times; and what is cached of it is its log."""
    original, events = await engine.events(source), await engine.events(key)
    assert compared(events) == compared(original)
    assert [each.event_id for each in events] == [each.event_id for each in original]
    assert {each.run_id for each in events} <= {key.run_id}
    await check_rows(engine, key)


async def check_rows(engine: EngineHarness, key: RunKey) -> None:
    """What readers see of a run is the fold of its log."""
    stored = await engine.stored_run(key)
    plan = await engine.catalog.pinned_plan(stored.header.workflow_id, stored.header.definition)
    state = await load_state(engine.store.log, stored.header, plan)
    folded = stored_run(state, make_redactor(state))
    rows = {(row.kind, row.name): row.value for row in stored.rows}
    assert rows == {(row.kind, row.name): row.value for row in folded.rows}
    known = msgspec.structs.replace(stored.projection, error=None, outputs=None)
    assert known == folded.projection
    assert (stored.projection.outputs is not None) == (state.status == "completed")
    assert (stored.projection.error is not None) == (state.status == "failed")
