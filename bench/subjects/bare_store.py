"""The durable commit of the bare server: one thread, one connection, one transaction for all who wait."""

import asyncio
import threading
from queue import Empty, SimpleQueue
from typing import Any, Final

import apsw
import msgspec

MAX_BATCH: Final = 512
CHECKPOINT_PAGES: Final = 1024
"""As our host does it: after the answers, when the WAL has 4 MiB."""
_TABLES = """
    CREATE TABLE runs (run_id TEXT PRIMARY KEY, workflow_id TEXT, status TEXT, document BLOB) WITHOUT ROWID;
    CREATE TABLE events (
      run_id TEXT, sequence INTEGER, type TEXT, timestamp TEXT, payload BLOB, PRIMARY KEY (run_id, sequence)
    ) WITHOUT ROWID;
"""
_Waiting = tuple["asyncio.Future[None]", tuple[Any, ...], list[tuple[Any, ...]]]


class BareSqliteStore:
    """WAL and synchronous=FULL. `keep` returns when the run and its events are on the disk."""

    def __init__(self, file: str) -> None:
        self._queue: SimpleQueue[_Waiting] = SimpleQueue()
        self._connection: Any = apsw.Connection(file)
        self._connection.pragma("journal_mode", "wal")
        self._connection.pragma("synchronous", "full")
        self._connection.pragma("wal_autocheckpoint", 0)
        self._connection.set_wal_hook(self._committed)
        self._wal_pages = 0
        self._connection.execute(_TABLES)
        threading.Thread(target=self._write, daemon=True).start()

    async def store_run(self, run: dict[str, Any]) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        row = (run["runId"], run["workflowId"], run["status"], msgspec.json.encode(run))
        self._queue.put((future, row, events(run)))
        await future

    def _write(self) -> None:
        while True:
            batch = [self._queue.get()]
            try:
                while len(batch) < MAX_BATCH:
                    batch.append(self._queue.get_nowait())
            except Empty:
                pass
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany("INSERT INTO runs VALUES (?, ?, ?, ?)", [row for _, row, _ in batch])
            self._connection.executemany(
                "INSERT INTO events VALUES (?, ?, ?, ?, ?)", [event for *_, rows in batch for event in rows]
            )
            self._connection.execute("COMMIT")
            batch[0][0].get_loop().call_soon_threadsafe(_settle, [future for future, *_ in batch])
            if self._wal_pages >= CHECKPOINT_PAGES:
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def _committed(self, _connection: Any, _database: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK


def events(run: dict[str, Any]) -> list[tuple[Any, ...]]:
    """As many rows as our host writes: the start and the end of the run and of each of its nodes."""
    nodes = list(run["nodeStates"])
    listed = [("run.started", {"inputs": {}, "owner": run["owner"], "workflowId": run["workflowId"]})]
    for node in nodes:
        listed.append(("node.started", {"attempt": 1, "nodeId": node, "typeId": "core.noop"}))
        listed.append(("node.completed", {"nodeId": node, "outputs": {}}))
    listed.append(("run.completed", {"outputs": run["outputs"]}))
    return [
        (run["runId"], number, kind, run["createdAt"], msgspec.json.encode(payload))
        for number, (kind, payload) in enumerate(listed)
    ]


def _settle(futures: "list[asyncio.Future[None]]") -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
