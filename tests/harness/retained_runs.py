"""Runs to delete: who deletes them, which they are, and a store that holds long ones."""

from pathlib import Path

from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.engine.api.keyring import Principal
from weftwork.engine.api.retention import Retention
from weftwork.protocol.wire.v1.routes import SCOPES
from weftwork.testing.storage.samples import batch, make_run

OTHER = Principal.of("key_2", "other", "live", frozenset(SCOPES))
TESTER = Principal.of("key_3", "acme", "test", frozenset(SCOPES))
GATE = workflow([node("a", "test.gate")])
NOOP = {**workflow([node("a", "core.noop")]), "id": "noop"}


def retention_of(bench: EngineHarness, days: int = 0) -> Retention:
    log = bench.process_log
    return Retention(log, log, log, bench.clock, bench.executor, days)


async def open_sqlite_store(folder: Path) -> tuple[SqliteStore, Retention]:
    store = SqliteStore(folder / "store.db")
    await store.open()
    return store, Retention(store.retention, store.log, store.records, EngineHarness().clock)


async def store_long_run(store: SqliteStore, run_id: str, count: int = 5000) -> str:
    made = await make_run(store, run_id, CALLER.partition)
    await store.log.append(made, -1, batch(made, -1, count, "completed"))
    return run_id
