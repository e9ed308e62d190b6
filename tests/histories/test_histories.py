"""Recorded data folders open, fold and finish: one for every stored schema so far, and one for every release."""

import asyncio
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from tools.record_history import dump, find_private_text, keep_runs, mask, remove_secrets, remove_unused, sql_value

from tests.crash.store_image import check_store_image
from tests.histories.replay import (
    RECORDINGS,
    Expected,
    Replayed,
    log_digest,
    read_expected,
    replay,
    restore,
)
from weftwork.protocol.limits import Limits
from weftwork.protocol.review.bundle_import import read_bundle
from weftwork.protocol.run.header import TERMINAL_STATUSES, WAITING_STATUSES
from weftwork.wiring.data_folder import DATABASE_FILE

NAMES = sorted(path.name for path in RECORDINGS.iterdir())
MIGRATIONS = Path(__file__).parents[2] / "src/weftwork/adapters/sqlite/migrations"
NEVER_STORED = {2, 3, 4, 6}
"""Schemas that were never the newest one of a commit."""
MAX_TOTAL_BYTES = 1_500_000


def check(found: Replayed, expected: Expected) -> None:
    """Everything that must hold for a recording that was replayed. Raises AssertionError."""
    assert expected.runs.keys() <= found.opened.keys(), "a run is lost"
    for run_id, run in expected.runs.items():
        recorded, now = found.before[run_id], found.after[run_id]
        assert log_digest(recorded) == run.log, f"{run_id}: its recording has been changed"
        if run.opened in (*TERMINAL_STATUSES, *WAITING_STATUSES):
            assert found.opened[run_id] == run.opened, f"{run_id} opens as {found.opened[run_id]}"
        assert found.finished[run_id] == run.finished, f"{run_id} ends as {found.finished[run_id]}"
        assert now[: len(recorded)] == recorded, f"{run_id}: an event has changed"
        assert now == recorded or run.opened not in TERMINAL_STATUSES, f"{run_id}: more events after its end"
        difference = found.differences[run_id]
        # A recording has masks as its hidden values, and what was made of the values cannot be made of the masks.
        is_masked = difference is not None and b"[REDACTED:" in msgspec.json.encode(difference["aEvent"]["payload"])
        assert difference is None or is_masked, f"{run_id}: its replay differs: {difference}"
        assert not found.histories[run_id], f"{run_id}: its history differs: {found.histories[run_id]}"
    for run_id, events in found.after.items():
        assert [event[0] for event in events] == list(range(len(events))), f"{run_id} has a gap"
        exported = (found.bundles[run_id] or {}).get("events", ())
        assert [event["eventId"] for event in exported] == [event[1] for event in events], f"{run_id}: no whole bundle"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
async def test_a_recorded_folder_opens_and_every_run_ends(name: str, tmp_path: Path) -> None:
    restore(RECORDINGS / name, tmp_path / "data")
    expected = read_expected(RECORDINGS / name)
    found = await replay(tmp_path / "data", expected)
    check(found, expected)
    for run_id, bundle in found.bundles.items():
        # The logs of all versions can be moved to another host.
        imported = read_bundle(msgspec.json.encode(bundle), Limits())
        assert imported.status == found.finished[run_id]
    await asyncio.to_thread(check_store_image, tmp_path / "data", tmp_path / "copy")


def test_every_schema_that_was_ever_stored_is_recorded() -> None:
    newest = len(list(MIGRATIONS.glob("*.sql")))
    recorded = {read_expected(RECORDINGS / name).schema_version for name in NAMES}
    assert recorded == set(range(1, newest + 1)) - NEVER_STORED, "record a folder that has this schema"


def test_recordings_stay_small() -> None:
    assert sum([path.stat().st_size for path in RECORDINGS.rglob("*") if path.is_file()]) <= MAX_TOTAL_BYTES


FIRST = RECORDINGS / NAMES[0]


@pytest.fixture
async def replayed(tmp_path: Path) -> Replayed:
    restore(FIRST, tmp_path / "data")
    return await replay(tmp_path / "data", read_expected(FIRST))


@pytest.mark.parametrize(
    ("member", "change", "message"),
    [
        ("before", lambda events: [(*events[0][:4], b"{}", *events[0][5:]), *events[1:]], "recording has been changed"),
        ("after", lambda events: [(*events[0][:4], b"{}", *events[0][5:]), *events[1:]], "an event has changed"),
        ("after", lambda events: [*events, (len(events), "more", "log.appended")], "more events after its end"),
        ("opened", lambda _: "running", "opens as running"),
        ("finished", lambda _: "failed", "ends as failed"),
        ("differences", lambda _: {"seq": 1, "aEvent": {"payload": {}}}, "its replay differs"),
        ("histories", lambda _: "First difference: event 1", "its history differs"),
        ("bundles", lambda _: None, "no whole bundle"),
        ("bundles", lambda bundle: {"events": bundle["events"][1:]}, "no whole bundle"),
    ],
)
async def test_what_a_host_does_wrong_is_seen(member: str, change: Any, message: str, replayed: Replayed) -> None:
    expected = read_expected(FIRST)
    check(replayed, expected)
    found = getattr(replayed, member)
    run_id = next(key for key, run in expected.runs.items() if run.opened == "completed")
    broken = msgspec.structs.replace(replayed, **{member: {**found, run_id: change(found[run_id])}})
    with pytest.raises(AssertionError, match=f"{run_id}.*{message}"):
        check(broken, expected)


async def test_a_lost_run_and_a_gap_are_seen(replayed: Replayed) -> None:
    expected = read_expected(FIRST)
    with pytest.raises(AssertionError, match="a run is lost"):
        check(msgspec.structs.replace(replayed, opened={}), expected)
    run_id, events = next((key, rows) for key, rows in replayed.after.items() if rows != replayed.before[key])
    torn = {**replayed.after, run_id: [*events[:-2], events[-1]]}
    with pytest.raises(AssertionError, match="has a gap"):
        check(msgspec.structs.replace(replayed, after=torn), expected)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET type = 'node.concluded' WHERE type = 'node.completed'",
        "UPDATE events SET type = 'run.failed' WHERE type = 'run.completed'",
        "UPDATE runs SET status = 'failed' WHERE status = 'completed'",
    ],
)
def test_a_store_that_is_not_the_fold_of_its_log_is_seen(statement: str, tmp_path: Path) -> None:
    restore(RECORDINGS / "schema-10", tmp_path / "data")
    connection = apsw.Connection(str(tmp_path / "data" / DATABASE_FILE))
    connection.execute(statement)
    connection.close()
    with pytest.raises(AssertionError):
        check_store_image(tmp_path / "data", tmp_path / "copy")


RECORDING = RECORDINGS / "schema-10"


@pytest.fixture
def store(tmp_path: Path) -> apsw.Connection:
    restore(RECORDING, tmp_path / "data")
    return apsw.Connection(str(tmp_path / "data" / DATABASE_FILE))


def count(store: apsw.Connection, table: str) -> Any:
    return store.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]


def test_a_restored_store_is_recorded_as_before(store: apsw.Connection) -> None:
    assert "".join(f"{line}\n" for line in dump(store)) == (RECORDING / "store.sql").read_text("utf-8")


@pytest.mark.parametrize("value", [None, 7, 0.5, "it's", "a\nb", "\u2028", b'{"a":"\xc3\xa9"}', b"\xff\0", b"it's"])
def test_a_value_is_the_same_again(value: Any, store: apsw.Connection) -> None:
    assert store.execute(f"SELECT {sql_value(value)}").fetchall() == [(value,)]


def test_no_secret_is_recorded(store: apsw.Connection) -> None:
    store.execute("INSERT INTO signing_keys VALUES (1, 'kid', X'00', 0, NULL)")
    store.execute("INSERT INTO keys VALUES (1, 'key_1', X'00', 'acme', 'live', '', '', 0, NULL, NULL)")
    store.execute("INSERT INTO meta VALUES ('salt', X'00')")
    store.execute("""UPDATE hidden SET value = CAST('["hush"]' AS BLOB)""")
    remove_secrets(store)
    assert [count(store, table) for table in ("signing_keys", "keys", "meta")] == [0, 0, 0]
    assert set(store.execute("SELECT value FROM hidden")) == {(b'["xxxx"]',)}
    assert mask({"a": ["b", 1, True, None]}) == {"a": ["x", 0, True, None]}


def test_one_run_is_kept_with_its_tree(store: apsw.Connection) -> None:
    runs = read_expected(RECORDING).runs
    parent = next(run_id for run_id, run in runs.items() if run.workflow_id == "parent-asks")
    keep_runs(store, (parent,))
    remove_unused(store)
    kept = store.execute("SELECT workflow_id FROM runs ORDER BY run_no").fetchall()
    assert kept == [("parent-asks",), ("approval",)]
    assert [count(store, table) for table in ("run_headers", "definitions", "open_interrupts")] == [2, 2, 1]
    with pytest.raises(SystemExit):
        keep_runs(store, ("no-such-run",))


def test_no_path_and_no_key_is_recorded(tmp_path: Path) -> None:
    assert find_private_text("nothing of the kind", tmp_path) is None
    assert find_private_text(f"read from {tmp_path}/data", tmp_path) is not None
    assert find_private_text("hk_live_" + "a" * 20, tmp_path) == "hk_live_aaaa"
