"""`python -m tools.record_history`: what is recorded, and what is not."""

from pathlib import Path
from typing import Any

import apsw
import pytest
from tools.record_history import dump, find_private_text, keep_runs, mask, remove_secrets, remove_unused, sql_value

from tests.histories.replay import RECORDINGS, read_expected, restore
from weftwork.wiring.data_folder import DATABASE_FILE

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
