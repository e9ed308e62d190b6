"""Runs to delete: who deletes them, which they are, and a store that holds long ones."""

from pathlib import Path

from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.engine.api.keyring import Principal
from weftwork.engine.api.retention import Retention
from weftwork.protocol.wire.v1.routes import SCOPES
from weftwork.testing.storage.harness import batch, make_run

OTHER = Principal.of("key_2", "other", "live", frozenset(SCOPES))
TESTER = Principal.of("key_3", "acme", "test", frozenset(SCOPES))
GATE = workflow([node("a", "test.gate")])
NOOP = {**workflow([node("a", "core.noop")]), "id": "noop"}


def keeper(bench: EngineHarness, days: int = 0) -> Retention:
    return Retention(bench.mortal, bench.clock, bench.executor, days)


async def opened(folder: Path) -> tuple[SqliteStore, Retention]:
    store = SqliteStore(folder / "store.db")
    await store.open()
    return store, Retention(store.log, EngineHarness().clock)


async def long_run(store: SqliteStore, run_id: str, count: int = 5000) -> str:
    made = await make_run(store, run_id, CALLER.partition)
    await store.log.append(made, -1, batch(made, -1, count, "completed"))
    return run_id
