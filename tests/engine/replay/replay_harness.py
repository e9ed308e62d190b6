"""Makes replays of runs, and compares their logs with those of their sources."""

import re
from typing import Any

import msgspec

from tests.harness.engine_harness import EngineHarness
from weftwork.engine.api.lineage.forks import Forks
from weftwork.engine.run.append import make_redactor
from weftwork.engine.run.replay import load_state
from weftwork.engine.run.state_rows import stored_run
from weftwork.ports.storage.event_log import RunCreated
from weftwork.protocol.replay.fork_request import ForkRequest, fork_header
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import StoredRun


async def create_replay(engine: EngineHarness, source: RunKey, from_seq: int = 0, name: str = "replay") -> RunKey:
    """A replay that has its prefix and nothing else."""
    stored = await engine.stored_run(source)
    key = RunKey(source.partition, f"{name}-{source.run_id}-{from_seq}")
    request = ForkRequest("replay", from_seq)
    now, until = engine.clock.now(), stored.projection.last_sequence
    header = fork_header(stored.header, request, key.run_id, now, until)
    plan = await engine.catalog.pinned_plan(header.workflow_id, header.definition)
    forks = Forks(engine.runtime, engine.catalog, engine.executor)
    _, first = await forks._first_batch(stored, plan, header, request, now)
    assert isinstance(await engine.store.forks.create(header, first), RunCreated)
    return key


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


def rows_of(stored: StoredRun) -> dict[tuple[str, str], bytes]:
    """The rows. A marker names one of the places of a hidden value, and which one depends on what was seen first."""
    return {(row.kind, row.name): re.sub(rb"REDACTED:[^]]*", b"REDACTED", row.value) for row in stored.rows}


async def check_rows(engine: EngineHarness, key: RunKey) -> None:
    """What readers see of a run is the fold of its log."""
    stored = await engine.stored_run(key)
    plan = await engine.catalog.pinned_plan(stored.header.workflow_id, stored.header.definition)
    state = await load_state(engine.store.log, stored.header, plan)
    folded = stored_run(state, make_redactor(state))
    rows, expected = rows_of(stored), rows_of(folded)
    assert rows.keys() == expected.keys()
    for place, row in rows.items():
        # A value that is hidden later, elsewhere, is masked in a row that is written after that.
        assert row == expected[place] or b"[REDACTED]" in expected[place], place
    known = msgspec.structs.replace(stored.projection, error=None, outputs=None)
    assert known == folded.projection
    assert (stored.projection.outputs is not None) == (state.status == "completed")
    assert (stored.projection.error is not None) == (state.status == "failed")
