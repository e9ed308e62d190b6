"""The store as a dead host left it: sound, whole, and every cache equal to the fold of its log."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import msgspec

from weftwork.adapters.nodes.builtin import BUILTIN_TYPES
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.run.replay import load_state
from weftwork.ports.nodes import NodeType
from weftwork.ports.storage.run_queries import InterruptQuery
from weftwork.ports.storage.store import Store
from weftwork.protocol.fold.state import is_parked, next_wake_at
from weftwork.protocol.run.header import RunKey
from weftwork.wiring.data_folder import DATABASE_FILE

ORPHANS = """
    SELECT id FROM events WHERE id >> 26 NOT IN
    (SELECT run_no FROM runs UNION SELECT run_no FROM deleted_runs WHERE purged = 0) LIMIT 1
"""


def check_store_image(data: Path, copy: Path, more_types: Iterable[NodeType] = ()) -> None:
    """Look at a copy: the next host must find the files as they were left. `more_types`: those of the workflows that
    are not built in."""
    copy.mkdir()
    for file in data.glob(f"{DATABASE_FILE}*"):
        shutil.copy(file, copy / file.name)
    asyncio.run(in_store(copy / DATABASE_FILE, partial(check_runs, more_types=more_types)))
    connection = apsw.Connection(str(copy / DATABASE_FILE), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.pragma("integrity_check") == "ok"
    outcomes: list[Any] = connection.execute("SELECT outcome FROM idempotency").fetchall()
    promised = {msgspec.json.decode(outcome).get("run_id") for (outcome,) in outcomes} - {None}
    known = {
        run_id for (run_id,) in connection.execute("SELECT run_id FROM runs UNION SELECT run_id FROM deleted_runs")
    }
    orphans = connection.execute(ORPHANS).fetchall()
    connection.close()
    assert promised <= known, "a key answers for a run that is not there"
    assert not orphans, "there are events of a run that is neither there nor being taken away"


async def in_store(path: Path, check: Callable[[SqliteStore, list[RunKey]], Awaitable[None]]) -> None:
    """Call `check` with the store and the keys of all its runs."""
    store = SqliteStore(path)
    async with asyncio.timeout(120):
        await store.open()
        try:
            # A host may have died before it made the tables.
            connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
            keys = [RunKey(*row) for row in connection.execute("SELECT partition, run_id FROM runs")]
            connection.close()
            await check(store, keys)
        finally:
            await store.close()


async def check_runs(store: Store, keys: list[RunKey], more_types: Iterable[Any] = ()) -> None:
    """Raise AssertionError unless everything that is stored about these runs is the fold of their logs. `more_types`:
    those of the workflows that are not built in."""
    nodes = (*BUILTIN_TYPES, *more_types)
    catalog = WorkflowCatalog(store.definitions, {node.declaration.type_id: node.declaration for node in nodes})
    for key in keys:
        await _check_run(store, catalog, key)


async def _check_run(store: Store, catalog: WorkflowCatalog, key: RunKey) -> None:
    stored = await store.log.read_run(key)
    assert stored is not None
    plan = await catalog.pinned_plan(stored.header.workflow_id, stored.header.definition)
    state = await load_state(store.log, stored.header, plan)
    projection = stored.projection
    folded = (state.status, state.last_sequence, state.started_at, state.completed_at, state.current_node)
    kept = (projection.status, projection.last_sequence, projection.started_at, projection.completed_at)
    assert (*kept, projection.current_node) == folded, f"{key.run_id}: the projection is not the fold"
    assert projection.executions == state.executions
    parked = is_parked(state)
    waits = parked, next_wake_at(state, None) if parked else None
    assert (projection.parked, projection.wake_at) == waits, f"{key.run_id}: it is not woken when it should be"
    nodes = {row.name: msgspec.json.decode(row.value)["status"] for row in stored.rows if row.kind == "node"}
    # A node whose turn has come has no row before it starts.
    found = {name: node.status for name, node in state.nodes.items() if node.status != "pending" or name in nodes}
    assert nodes == found, f"{key.run_id}: a row is not the fold: {nodes} for {found}"
    asked = {row.name: msgspec.json.decode(row.value)["status"] for row in stored.rows if row.kind == "interrupt"}
    assert asked == {name: each.status for name, each in state.interrupts.items()}, f"{key.run_id}: a question differs"
    page = await store.queries.list_interrupts(key.partition, InterruptQuery(run_id=key.run_id, limit=1000))
    listed = {each.interrupt_id for each in page.interrupts}
    wanted = {name for name, how in asked.items() if how == "open"}
    assert listed == wanted, f"{key.run_id}: the list of open questions has {listed} for {wanted}"
