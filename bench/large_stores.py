"""Large stores, written in seconds: a tree of unfinished runs, a run with a long log, and many runs that wait.

The host itself writes the first runs, so that headers, logs and state are what it writes. It makes the whole tree, and
is killed before the leaves have started. The other stores are multiplied inside SQLite.

    python -m bench.large_stores tree --runs 25000 FOLDER
    python -m bench.large_stores long --mib 900 FOLDER
    python -m bench.large_stores waiting --runs 100000 FOLDER
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import apsw

from bench.child_process import end_all
from bench.costs.graphs import definition, node
from bench.plan import BenchError
from bench.subjects.host import Host, weftwork

HOUR_MS: Final = 3_600_000
BRANCH_LEAVES: Final = 1_000
"""Leaves of a branch: as many children as a map can have open."""
SEQUENCE_BITS: Final = 26
"""The id of an event is run_no * 2^26 + sequence."""
BUILD_SECONDS: Final = 300.0
LOOK_SECONDS: Final = 0.05
SETTINGS: Final = "max_live_children = 1\nmax_children_per_second = 0\n"
"""While the tree is written: its leaves are created as quickly as possible, and only one at a time is executed."""
LEAF: Final = definition("leaf", [node(0, "core.delay", {"delayMs": HOUR_MS})], [])
GATE: Final = definition("gate", [node(0, "core.approvalGate", {"title": "May it?", "timeoutMs": 24 * HOUR_MS})], [])
SLEEP: Final = definition("sleep", [node(0, "core.delay", {"delayMs": 24 * HOUR_MS})], [])

Json = dict[str, Any]


def write_tree(folder: Path, runs: int) -> None:
    """A run over branches over leaves, about `runs` in total. The leaves are created and have not started."""
    branches, leaves = max(1, runs // BRANCH_LEAVES), min(runs, BRANCH_LEAVES)
    data = folder / "data"
    data.mkdir(parents=True)
    (data / "weftwork.toml").write_text(SETTINGS, "utf-8")
    with weftwork(folder) as host:
        host.wait()
        for document in (LEAF, _map("branch", "leaf", leaves), _map("tree", "branch", branches)):
            host.call("POST", "/v1/workflows", document)
        host.call("POST", "/v1/runs", {"workflowId": "tree"})
        _wait_for(lambda: _count(data, "kinship") >= branches * (leaves + 1), "the tree to be written")
    (data / "weftwork.toml").unlink()


def write_long_run(folder: Path, mib: int) -> None:
    """One unfinished run whose log has so many events of 1 MiB."""
    with weftwork(folder) as host:
        _run_at_rest(host, GATE)
    connection = _open(folder)
    number, last = connection.execute("SELECT run_no, last_sequence FROM runs").fetchone()
    payload = b'{"level":"info","message":"' + b"m" * 2**20 + b'","nodeId":"n0"}'
    for at in range(1, mib + 1):
        connection.execute(
            "INSERT INTO events (id, event_id, type, timestamp, payload, node_id, schema_version, engine_version)"
            " SELECT ?, event_id || ?, 'log.appended', timestamp, ?, 'n0', schema_version, engine_version"
            " FROM events WHERE id = ?",
            (number << SEQUENCE_BITS | last + at, f"-{at}", payload, number << SEQUENCE_BITS),
        )
    # Not parked, as if a host of an older version had written it, so that the next start loads it.
    connection.execute("UPDATE runs SET parked = 0, wake_at = NULL, last_sequence = ?", (last + mib,))
    _close(connection)


def write_waiting_runs(folder: Path, runs: int) -> None:
    """So many runs, half of which wait for a person and half for a time."""
    with weftwork(folder) as host:
        for document in (GATE, SLEEP):
            _run_at_rest(host, document)
    connection = _open(folder)
    for number, run_id in connection.execute("SELECT run_no, run_id FROM runs").fetchall():
        _multiply(connection, number, run_id, runs // 2 - 1)
    _close(connection)


def _multiply(connection: Any, number: int, run_id: str, count: int) -> None:
    """Add so many copies of a run."""
    first = connection.execute("SELECT max(run_no) + 1 FROM runs").fetchone()[0]
    stem = run_id[:-8]
    copies = "WITH RECURSIVE copy(at) AS (SELECT 0 UNION ALL SELECT at + 1 FROM copy WHERE at + 1 < :count) "
    renamed = "CAST(replace(CAST({} AS TEXT), :run_id, :stem || printf('%08d', :first + at)) AS BLOB)"
    changed = {
        "run_no": ":first + at",
        "run_id": ":stem || printf('%08d', :first + at)",
        "id": "id - (:number << 26) + (:first + at << 26)",
        "event_id": "substr(event_id, 1, 16) || printf('%08d', :first + at)",
        "header": renamed.format("header"),
        "payload": renamed.format("payload"),
        "value": renamed.format("value"),
    }
    given = {"count": count, "number": number, "run_id": run_id, "first": first, "stem": stem}
    for table in ("runs", "run_headers", "events", "run_state", "open_interrupts"):
        columns: list[str] = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        values = ", ".join(changed.get(column, column) for column in columns)
        own = "id >> 26" if table == "events" else "run_no"
        connection.execute(
            f"{copies}INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM copy, {table}"  # noqa: S608
            f" WHERE {own} = :number",
            given,
        )


def _run_at_rest(host: Host, document: Json) -> None:
    """Start a run, and wait until it waits."""
    host.wait()
    host.call("POST", "/v1/workflows", document)
    run = host.call("POST", "/v1/runs", {"workflowId": document["id"]})["runId"]
    data = host.child.log.parent / "data"
    _wait_for(lambda: _parked(data, run), f"the run of {document['id']} to wait")


def _map(name: str, workflow_id: str, count: int) -> Json:
    config = {"items": list(range(count)), "body": {"workflowId": workflow_id, "inputs": {}}, "concurrency": count}
    return definition(name, [node(0, "core.flow.map", config)], [])


def _parked(data: Path, run_id: str) -> bool:
    return bool(_ask(data, "SELECT 1 FROM runs WHERE run_id = ? AND parked = 1", run_id))


def _count(data: Path, table: str) -> int:
    return _ask(data, f"SELECT count(*) FROM {table}")[0][0]  # noqa: S608


def _ask(data: Path, statement: str, *values: Any) -> list[Any]:
    """Read the store of a host that runs."""
    connection: Any = apsw.Connection(str(data / "weftwork.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(5000)
        return connection.execute(statement, values).fetchall()
    finally:
        connection.close()


def _open(folder: Path) -> Any:
    connection: Any = apsw.Connection(str(folder / "data" / "weftwork.db"))
    connection.execute("PRAGMA synchronous = off")
    connection.execute("BEGIN")
    return connection


def _close(connection: Any) -> None:
    connection.execute("COMMIT")
    connection.close()


def _wait_for(look: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + BUILD_SECONDS
    while not look():
        if time.monotonic() > until:
            raise BenchError(f"waited {BUILD_SECONDS:.0f} s for {what}")
        time.sleep(LOOK_SECONDS)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.large_stores", description="Write a large store.")
    parser.add_argument("kind", choices=("tree", "long", "waiting"))
    parser.add_argument("folder", type=Path, help="the data folder becomes FOLDER/data")
    parser.add_argument("--runs", type=int, default=25_000)
    parser.add_argument("--mib", type=int, default=900)
    given = parser.parse_args(arguments)
    try:
        if given.kind == "long":
            write_long_run(given.folder, given.mib)
        else:
            {"tree": write_tree, "waiting": write_waiting_runs}[given.kind](given.folder, given.runs)
    except BenchError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    finally:
        end_all()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
