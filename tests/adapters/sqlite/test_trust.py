"""Stores from before events said whether what they carry came from outside."""

import asyncio
from pathlib import Path
from typing import Any

import apsw
from msgspec.structs import replace

from weftwork.adapters.sqlite.database.connection import load_migrations, migrate
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.testing.storage.samples import batch, header, make_run


def test_events_of_a_store_from_before_trust_are_read_and_followed_by_others(tmp_path: Path) -> None:
    """The old ones say nothing of it and are what they were; new ones do."""
    run = header().key

    async def written(path: Path, after: int, trust: Any) -> list[Any]:
        store = SqliteStore(path)
        await store.open()
        try:
            if after < 0:
                await make_run(store)
            given = batch(run, after, 3)
            events = tuple(replace(each, content_trust=trust) for each in given.events)
            await store.log.append(run, after, replace(given, events=events))
            return await store.log.read(run, -1, 100)
        finally:
            await store.close()

    before = asyncio.run(written(tmp_path / "new.db", -1, None))
    old: Any = apsw.Connection(str(tmp_path / "old.db"))
    migrate(old, load_migrations()[:8])
    old.execute("ATTACH ? AS new", (str(tmp_path / "new.db"),))
    for table in ("runs", "run_headers", "events"):
        columns = ", ".join(name for _, name, *_ in old.execute(f"PRAGMA main.table_info({table})"))
        old.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM new.{table}")
    old.close()
    after = asyncio.run(written(tmp_path / "old.db", 2, "untrusted"))
    assert [each.content_trust for each in after] == [None] * 3 + ["untrusted"] * 3
    assert [each.document for each in after[:3]] == [each.document for each in before]
