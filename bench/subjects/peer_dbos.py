"""DBOS with its system database in SQLite or PostgreSQL: every step is durable before the next begins."""

import sqlite3
import sys
from contextlib import closing
from typing import Final

from dbos import DBOS

from bench.subjects.peer import Order, in_threads, serve

FULL: Final = (2,)


@DBOS.step()
def step(count: int) -> int:
    return count + 1


@DBOS.workflow()
def one_step(count: int) -> int:
    return step(count)


@DBOS.workflow()
def three_step(count: int) -> int:
    return step(step(step(count)))


def carry_out(order: Order) -> list[float]:
    workflow = {1: one_step, 3: three_step}[order.steps]

    def once() -> None:
        ended = workflow(0)
        if ended != order.steps:
            raise RuntimeError(f"a workflow of {order.steps} steps ended with {ended}")

    return in_threads(once, order)


def main() -> None:
    store = sys.argv[1]
    url = store if "://" in store else _sqlite(store)
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "WARNING"})
    DBOS.launch()
    serve(carry_out)


def _sqlite(file: str) -> str:
    # DBOS leaves the journal mode as it finds it. WAL is kept in the file, and makes it faster.
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    # Its connections have the default, which is FULL unless SQLite was built with another one.
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("SELECT count(*) FROM sqlite_master")
        if connection.execute("PRAGMA synchronous").fetchone() != FULL:
            raise SystemExit("the SQLite of this Python does not begin with synchronous=FULL")
    return f"sqlite:///{file}"


if __name__ == "__main__":
    main()
