"""Records a data folder as a history, which tests/histories replays with every later version of the host.

    python -m tools.record_history DATA_FOLDER NAME --written-by COMMIT [--run ID]... [--model-script FILE]

The folder must belong to no running host; it is copied, not changed. `tests/histories/recordings/NAME` gets the store
as SQL, the bytes of assets, and `expected.json` with the status of each run before and after this version of the host
has finished it. Read that file before it is committed: it says what will have to hold from now on.

No secret is recorded. API keys, signing keys and the salt are left out, because a host makes new ones; hidden values
are replaced by as many `x`. What workflows and logs show is recorded as it is, so record folders that were filled for
this purpose. The tool refuses to write the paths and the name of this machine, and what looks like a key.
"""
# ruff: noqa: S608  The names in statements are those of the store's own tables.

import argparse
import asyncio
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec
from tests.histories.replay import RECORDINGS, Expected, ExpectedRun, log_digest, replay, restore

from weftwork.wiring.data_folder import DATABASE_FILE

OPENED_AFTER_MS: Final = 120_000
"""From the last event to the time at which a host opens the recording: longer than the delays in it."""
SECRET_TABLES: Final = ("keys", "signing_keys")
KEY_PATTERN: Final = re.compile(r"hk_(?:live|test)_\w{16,}")
UNUSED_DEFINITIONS: Final = """
    DELETE FROM definitions WHERE digest NOT IN (SELECT header ->> 'definition' FROM (
      SELECT CAST(header AS TEXT) AS header FROM run_headers))
"""


def record(data: Path, recording: Path, written_by: str, runs: tuple[str, ...] = (), script: str = "") -> Expected:
    """Write a recording of a data folder, of these runs and their trees only if there are any."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name, "data")
        shutil.copytree(data, copy, ignore=shutil.ignore_patterns("*.sock", "*.lock"))
        connection = apsw.Connection(str(copy / DATABASE_FILE))
        remove_secrets(connection)
        if runs:
            keep_runs(connection, runs)
        remove_unused(connection)
        text = "".join(f"{line}\n" for line in dump(connection))
        statuses = connection.execute("SELECT run_id, workflow_id, status FROM runs ORDER BY run_no").fetchall()
        [(last,)] = connection.execute("SELECT max(timestamp) FROM events").fetchall()
        schema_version = int(connection.pragma("user_version"))  # type: ignore[arg-type]
        kept = assets_of(connection)
        connection.close()
        if found := find_private_text(text, data):
            raise SystemExit(f"not recorded: the store holds {found!r}")
        shutil.rmtree(recording, ignore_errors=True)
        for key in kept:
            (recording / "assets" / key).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(copy / "assets" / key, recording / "assets" / key)
        recording.mkdir(parents=True, exist_ok=True)
        (recording / "store.sql").write_text(text, "utf-8")
        expected = Expected(schema_version, written_by, int(last) + OPENED_AFTER_MS, {}, script)  # type: ignore[arg-type]
        restore(recording, Path(name, "restored"))
        replayed = asyncio.run(replay(Path(name, "restored"), expected))
    known = {
        run_id: ExpectedRun(flow, status, replayed.finished[run_id], log_digest(replayed.before[run_id]))
        for run_id, flow, status in ((str(row[0]), str(row[1]), str(row[2])) for row in statuses)
    }
    expected = msgspec.structs.replace(expected, runs=known)
    encoded = msgspec.json.format(msgspec.json.encode(expected), indent=2)
    (recording / "expected.json").write_bytes(encoded + b"\n")
    return expected


def tables(connection: apsw.Connection) -> dict[str, list[str]]:
    """Columns by table, tables in the order in which they were made."""
    names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
    return {
        str(name): [str(row[1]) for row in connection.execute(f"PRAGMA table_info({name})")]
        for (name,) in connection.execute(names).fetchall()
    }


def remove_secrets(connection: apsw.Connection) -> None:
    """Leave out what every host creates itself, and mask sensitive values."""
    for table in SECRET_TABLES:
        if table in tables(connection):
            connection.execute(f"DELETE FROM {table}")
    connection.execute("DELETE FROM meta WHERE name = 'salt'")
    for number, value in connection.execute("SELECT hidden_no, value FROM hidden").fetchall():
        masked = msgspec.json.encode(mask(msgspec.json.decode(value)))  # type: ignore[arg-type]
        connection.execute("UPDATE hidden SET value = ? WHERE hidden_no = ?", (masked, number))


def mask(value: Any) -> Any:
    """A value of the same shape that says nothing."""
    if isinstance(value, str):
        return "x" * len(value)
    if isinstance(value, list):
        return [mask(item) for item in value]
    if isinstance(value, dict):
        return {name: mask(item) for name, item in value.items()}
    return value if value is None or isinstance(value, bool) else 0


def keep_runs(connection: apsw.Connection, runs: tuple[str, ...]) -> None:
    """Delete all runs but these and those below them."""
    marks = ", ".join("?" for _ in runs)
    rows = connection.execute(f"SELECT run_no FROM runs WHERE run_id IN ({marks})", runs).fetchall()
    kept = {int(row[0]) for row in rows}  # type: ignore[arg-type]
    if len(kept) < len(runs):
        raise SystemExit("not recorded: the store does not have all of these runs")
    found = tables(connection)
    if "kinship" in found:
        for child, parent in connection.execute("SELECT run_no, parent_no FROM kinship ORDER BY run_no").fetchall():
            kept |= {int(child)} if parent in kept else set()  # type: ignore[arg-type]
    listed = ", ".join(map(str, kept))
    for table, columns in found.items():
        if "run_no" in columns:
            connection.execute(f"DELETE FROM {table} WHERE run_no NOT IN ({listed})")
    connection.execute(f"DELETE FROM events WHERE id >> 26 NOT IN ({listed})")
    connection.execute("DELETE FROM idempotency")


def remove_unused(connection: apsw.Connection) -> None:
    """Delete definitions that no run has and no tenant has registered."""
    registered = " AND digest NOT IN (SELECT digest FROM workflows)" if "workflows" in tables(connection) else ""
    connection.execute(UNUSED_DEFINITIONS + registered)


def assets_of(connection: apsw.Connection) -> list[str]:
    if "assets" not in tables(connection):
        return []
    return [str(row[0]) for row in connection.execute("SELECT key FROM assets")]


def dump(connection: apsw.Connection) -> Iterator[str]:
    """The store as SQL, one line for each row. Indexes and triggers come last, so that triggers count nothing twice."""
    yield f"PRAGMA user_version = {connection.pragma('user_version')};"
    found = tables(connection)
    yield "BEGIN;"
    for name in found:
        [(sql,)] = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)).fetchall()
        yield f"{sql};"
    for name in found:
        for row in connection.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall():
            yield f"INSERT INTO {name} VALUES ({', '.join(map(sql_value, row))});"
    others = "SELECT sql FROM sqlite_schema WHERE type IN ('index', 'trigger') AND sql IS NOT NULL ORDER BY rowid"
    yield from (f"{sql};" for (sql,) in connection.execute(others).fetchall())
    yield "COMMIT;"


def sql_value(value: Any) -> str:
    """A literal; text that can be printed stays readable, also where it is stored as a blob."""
    if value is None or isinstance(value, int | float):
        return apsw.format_sql_value(value)
    kind, encoded = ("TEXT", value.encode()) if isinstance(value, str) else ("BLOB", value)
    try:
        text = encoded.decode()
    except UnicodeDecodeError:
        text = "\0"
    if not text.isprintable():
        return f"CAST(X'{encoded.hex()}' AS {kind})"
    quoted = "'" + text.replace("'", "''") + "'"
    return quoted if kind == "TEXT" else f"CAST({quoted} AS BLOB)"


def find_private_text(text: str, data: Path) -> str | None:
    """A path or the name of this machine, or a key, in what would be written."""
    private = {str(data.resolve()), str(Path.home()), os.getcwd(), tempfile.gettempdir(), socket.gethostname()}
    found = next((each for each in private if len(each) > 3 and each in text), None)
    key = KEY_PATTERN.search(text)
    return found or (key[0][:12] if key else None)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tools.record_history", description="Record a data folder for tests/histories."
    )
    parser.add_argument("data", type=Path, metavar="DATA_FOLDER")
    parser.add_argument("name", metavar="NAME", help="folder below tests/histories/recordings")
    parser.add_argument("--written-by", required=True, metavar="COMMIT", help="commit or release that wrote the folder")
    parser.add_argument(
        "--run", action="append", default=[], metavar="ID", help="only this run and its tree; repeatable"
    )
    parser.add_argument("--model-script", type=Path, metavar="FILE", help="answers of the scripted model")
    given = parser.parse_args()
    script = given.model_script.read_text("utf-8") if given.model_script else ""
    expected = record(given.data, RECORDINGS / given.name, given.written_by, tuple(given.run), script)
    for run_id, run in expected.runs.items():
        print(f"{run_id}  {run.workflow_id}: {run.opened}, then {run.finished}")  # noqa: T201


if __name__ == "__main__":
    main()
