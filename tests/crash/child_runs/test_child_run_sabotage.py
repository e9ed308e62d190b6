"""The proofs of trees can fail: each guard that is taken away is missed by the check that is there for it."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.crash.child_runs.child_run_host import ChildRunClients, ChildRunHost
from tests.crash.child_runs.child_run_oracle import check_trees, children
from tests.crash.child_runs.message_image import check_messages
from tests.crash.client import HostGone
from tests.crash.interrupts.scripted_clients import ScriptedClients
from tests.crash.restartable_host import check_killed_at
from tests.live import Host, until
from weftwork.wiring.data_folder import DATABASE_FILE

pytestmark = pytest.mark.slow


def begin(
    ground: ChildRunHost, story: str, steps: int | None = None, faults: str | None = None
) -> tuple[ScriptedClients, Host]:
    """A host that breaks its word is in the middle of a story."""
    desk, host = ChildRunClients(seed=41), ground.start(faults)
    try:
        desk.start_run(host, story, steps)
    except HostGone:
        assert faults is not None, host.errors
    return desk, host


def last_sequence(data: Path) -> int:
    """Of the first run, as the store has it."""
    connection = apsw.Connection(str(data / DATABASE_FILE), flags=apsw.SQLITE_OPEN_READONLY)
    found: Any = connection.execute("SELECT last_sequence FROM runs ORDER BY run_no LIMIT 1").fetchall()
    connection.close()
    return found[0][0]


def test_a_child_that_is_named_before_it_is_there_is_missed(tmp_path: Path) -> None:
    with ChildRunHost(tmp_path, "store_children_late") as ground:
        _, host = begin(ground, "call", 1)
        until(lambda: last_sequence(ground.data) >= 2, "the word of the child")
        host.kill()
        with pytest.raises(AssertionError, match="names 1 children, and there are 0"):
            check_messages(ground.data, tmp_path / "image")


def test_a_child_that_is_there_before_it_is_named_is_made_twice(tmp_path: Path) -> None:
    with ChildRunHost(tmp_path, "store_children_early") as ground:
        desk, host = begin(ground, "call", 1)
        until(lambda: children(host, desk.runs[0].run_id) or None, "the child")
        host.kill()
        with pytest.raises(AssertionError, match="names 0 children, and there are 1"):
            check_messages(ground.data, tmp_path / "image")
        with pytest.raises(AssertionError, match="names 1 children, and there are 2"):
            check_trees(ground.start(), desk)


@pytest.mark.parametrize("sabotage", ["drop_child_results", "clear_results_early", "skip_message_recovery"])
def test_word_that_is_in_nobodys_store_or_that_nobody_takes_up_is_missed(tmp_path: Path, sabotage: str) -> None:
    with ChildRunHost(tmp_path, sabotage) as ground:
        desk, host = begin(ground, "fan", 1, "kin.deliver:1:kill")
        check_killed_at(host, "kin.deliver")
        kept = sabotage == "skip_message_recovery"
        with nullcontext() if kept else pytest.raises(AssertionError, match=r"the word of .* is lost"):
            check_messages(ground.data, tmp_path / "image")
        with pytest.raises(AssertionError, match="did not go on"):
            check_trees(ground.start(), desk, patience=2.0)


def test_word_that_counts_twice_is_seen(tmp_path: Path) -> None:
    with ChildRunHost(tmp_path, "apply_results_twice") as ground:
        _, host = begin(ground, "fan", 1, "kin.deliver:2:kill")
        check_killed_at(host, "kin.deliver")
        known = last_sequence(ground.data)
        host = ground.start()
        until(lambda: last_sequence(ground.data) > known, "the parent to hear it again")
        host.kill()
        with pytest.raises(AssertionError, match="heard the end of a child twice"):
            check_messages(ground.data, tmp_path / "image")


def test_a_cancel_that_is_in_nobodys_store_is_missed(tmp_path: Path) -> None:
    with ChildRunHost(tmp_path, "drop_cancel_requests") as ground:
        desk, host = begin(ground, "fell")
        host.kill()
        with pytest.raises(AssertionError, match="has no order"):
            check_messages(ground.data, tmp_path / "image")
        with pytest.raises(AssertionError, match="did not go on"):
            check_trees(ground.start(), desk, patience=2.0)


def test_orders_that_stay_when_they_are_done_are_seen(tmp_path: Path) -> None:
    with ChildRunHost(tmp_path, "keep_cancel_requests") as ground:
        desk, host = begin(ground, "fell")
        with pytest.raises(AssertionError, match="news and orders to be gone"):
            check_trees(host, desk, patience=2.0)
