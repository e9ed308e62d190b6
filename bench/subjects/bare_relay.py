"""The bare relay: passes the answers of a model server on, and makes each piece durable first.

For each piece, one read from a socket, one commit on another thread, and one write to a socket. Nothing is parsed. What
is left is the price of a durable chunk in Python on this machine.
"""

import argparse
import asyncio
import threading
from queue import SimpleQueue
from typing import Any, Final, cast

import apsw
import uvloop

CHECKPOINT_PAGES: Final = 1024
"""As our host does it: after the answers, when the WAL has 4 MiB."""
_TABLES = """
    CREATE TABLE runs (run_no INTEGER PRIMARY KEY, last_sequence INTEGER NOT NULL);
    CREATE TABLE events (id INTEGER PRIMARY KEY, payload BLOB NOT NULL);
    INSERT INTO runs VALUES (1, 0);
"""


class Commits:
    """WAL and synchronous=FULL, as our host; a transaction for each piece. `on_durable` is called on the loop."""

    def __init__(self, file: str) -> None:
        self._queue: SimpleQueue[tuple[asyncio.Transport, bytes]] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._connection: Any = apsw.Connection(file)
        self._connection.pragma("journal_mode", "wal")
        self._connection.pragma("synchronous", "full")
        self._connection.pragma("wal_autocheckpoint", 0)
        self._connection.set_wal_hook(self._committed)
        self._wal_pages = 0
        self._connection.execute(_TABLES)
        threading.Thread(target=self._write, daemon=True).start()

    def relay(self, client: asyncio.Transport, piece: bytes) -> None:
        self._queue.put((client, piece))

    def _write(self) -> None:
        connection, take, wake = self._connection, self._queue.get, self._loop.call_soon_threadsafe
        while True:
            client, piece = take()
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO events (payload) VALUES (?)", (piece,))
            connection.execute("UPDATE runs SET last_sequence = last_sequence + 1 WHERE run_no = 1")
            connection.execute("COMMIT")
            wake(client.write, piece)
            if self._wal_pages >= CHECKPOINT_PAGES:
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def _committed(self, _connection: Any, _database: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK


class Upstream(asyncio.Protocol):
    """A connection to the model server. It is closed when the client has gone."""

    def __init__(self, client: asyncio.Transport, commits: Commits) -> None:
        self._client = client
        self._commits = commits

    def data_received(self, data: bytes) -> None:
        self._commits.relay(self._client, data)


class Downstream(asyncio.Protocol):
    """A client. Its request is sent to the model server as it is."""

    def __init__(self, port: int, commits: Commits) -> None:
        self._port = port
        self._commits = commits
        self._opening: asyncio.Task[asyncio.Transport] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._opening = asyncio.create_task(self._open(cast(asyncio.Transport, transport)))

    def data_received(self, data: bytes) -> None:
        assert self._opening is not None
        self._opening.add_done_callback(lambda opening: opening.result().write(data))

    def connection_lost(self, exc: Exception | None) -> None:
        assert self._opening is not None
        self._opening.add_done_callback(lambda opening: opening.result().close())

    async def _open(self, client: asyncio.Transport) -> asyncio.Transport:
        loop = asyncio.get_running_loop()
        made = await loop.create_connection(lambda: Upstream(client, self._commits), "127.0.0.1", self._port)
        return cast(asyncio.Transport, made[0])


async def serve(file: str, port: int, model_port: int) -> None:
    commits = Commits(file)
    server = await asyncio.get_running_loop().create_server(lambda: Downstream(model_port, commits), "127.0.0.1", port)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--file", required=True)
    parser.add_argument("--model-port", type=int, required=True)
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    uvloop.run(serve(given.file, given.port, given.model_port))


if __name__ == "__main__":
    main()
