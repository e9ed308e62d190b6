"""Each guard of the SQLite store is needed: without it the conformance suite, or a test here, goes red."""

import asyncio
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import each_case
from weftwork.adapters.sqlite import (
    annotations,
    assets,
    child_runs,
    definitions,
    event_log,
    forks,
    idempotency,
    interrupts,
    ownership,
    run_queries,
    runs,
    transactions,
)
from weftwork.adapters.sqlite.database import writer
from weftwork.adapters.sqlite.database.connection import open_reader, open_writer
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.adapters.sqlite.transactions import RunHeadCache
from weftwork.ports.storage.assets import AssetUsage
from weftwork.ports.storage.run_queries import RunQuery
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.header import RunKey, Status
from weftwork.protocol.run.projection import StateRow, StoredRun
from weftwork.testing import storage
from weftwork.testing.storage.samples import ACME, batch, make_run

CHECKS = {check.__name__: check for check in storage.CHECKS}
ORDERED = "a_cancel_request_stands_until_the_child_has_ended"
CASCADED = "a_cascade_cancels_the_selected_children"
BEHIND = "a_page_goes_on_though_its_cursor_is_gone"
LAST = "an_asset_stays_until_the_last_run_is_gone"


def without_end(*arguments: Any, select: Callable[..., str] = interrupts.page_query) -> str:
    return select(*arguments).replace("AND r.completed_at IS NULL", "")


def unclamped(least: int, value: int) -> int:
    return value if least == -1 else max(least, value)


@each_case(
    "module, guard, without, check",
    (transactions, "is_sequence_conflict", lambda *_: False, "one_of_many_appenders_wins"),
    (
        transactions,
        "is_sequence_conflict",
        lambda head, expected: head.last_sequence != expected,
        "nothing_follows_the_end",
    ),
    (idempotency, "find_recorded", lambda *_: None, "one_of_many_takes_a_slot"),
    (event_log, "check_batch", lambda *_: None, "an_inconsistent_batch_is_refused_whole"),
    (transactions, "_LIVE_IN_SCOPE", "SELECT 1 WHERE ? IS NULL AND ? IS NULL", "a_live_run_keeps_its_scope"),
    (transactions, "_LIVE_IN_SCOPE", ("IS ?", "= ?"), "no_scope_is_a_scope"),
    (definitions, "_find", lambda *_: None, "one_of_many_registers_a_version"),
    (definitions, "_HAS_NTH_VERSION", "SELECT 1 WHERE ? IS NULL AND ? IS NULL", "a_full_tenant_registers_nothing"),
    (definitions, "_SUPERSEDE", "SELECT ?, ?", "the_version_registered_last_is_current"),
    (annotations, "COUNT_ANNOTATIONS", "SELECT 0 WHERE ? IS NOT NULL", "many_at_once_do_not_overfill_a_run"),
    (annotations, "LOCATE_EVENT", ("< ?", "< ? + 100"), "an_event_is_located_among_the_first"),
    (annotations, "check_record", lambda *_: None, "an_annotation_is_stored_with_its_record"),
    (idempotency, "find_recorded", lambda *_: None, "one_of_many_with_one_slot_is_kept"),
    (runs, "max", unclamped, "a_page_of_events_starts_after_its_cursor"),
    (transactions, "_UPDATE_ENDED", ("status = ?", "executions = executions + (? IS NULL)"), "filters_combine"),
    (transactions, "_UPDATE_PARKED", "SELECT ?, ?, ?", "that_a_run_is_parked_comes_back"),
    (transactions, "_UPDATE_PARKED", ("parked = ?", "parked = max(parked, ?)"), "parked_runs_are_not_recovered"),
    (ownership, "UNTAKEN", ("AND parked = 0", ""), "parked_runs_are_not_recovered"),
    (ownership, "UNTAKEN", ("AND run_no <= ?", "AND ?"), "untaken_runs_end_at_a_bound"),
    (ownership, "COUNT_UNTAKEN", ("AND run_no <= ?", "AND ?"), "untaken_runs_end_at_a_bound"),
    (ownership, "COUNT_UNTAKEN", ("fence < ?", "fence <= ?"), "a_taken_run_is_left_to_its_executor"),
    (ownership, "NEXT_UNTAKEN_FENCE", ("AND fence < ?", "AND fence <= ?"), "a_taken_run_is_left_to_its_executor"),
    (ownership, "NEWEST", ("DESC", "ASC"), "untaken_runs_end_at_a_bound"),
    (ownership, "UNTAKEN_IN_PARTITION", ("AND +partition = ?", "AND ?"), "untaken_runs_of_one_partition"),
    (ownership, "_TAKE", ("retry_at = NULL", "run_no = run_no"), "a_run_that_was_taken_again_is_not_retried"),
    (ownership, "DUE_RETRIES", ("AND completed_at IS NULL", ""), "a_run_that_was_taken_again_is_not_retried"),
    (ownership, "DUE_RETRIES", ("fence = ?", "fence <> ?"), "a_run_is_tried_again_at_its_time"),
    (ownership, "_epoch", lambda _: 1, "an_executor_that_was_replaced_takes_no_runs"),
    (transactions, "is_fence_lost", lambda *_: False, "a_lost_fence_writes_nothing"),
    (
        transactions,
        "is_fence_lost",
        lambda head, fence: fence is not None and fence < head.fence,
        "a_lost_fence_writes_nothing",
    ),
    (run_queries, "NEXT_WAKE", ("parked = 1 AND", ""), "the_next_wake_is_the_earliest"),
    (run_queries, "DUE_RUNS", ("<= ?", "< ?"), "due_runs_come_earliest_first"),
    (run_queries, "TIMED_RUNS", ("r.parked = 1 AND", ""), "timed_runs_are_listed_in_pages"),
    (run_queries, "TIMED_RUNS", ("> (?, ?)", ">= (?, ?)"), "timed_runs_are_listed_in_pages"),
    (transactions, "set_open", lambda *_: None, "open_interrupts_are_listed_oldest_first"),
    (interrupts, "_DELETE_OPEN", "SELECT ?, ?", "an_interrupt_is_listed_while_it_is_open"),
    (
        interrupts,
        "_INSERT_OPEN",
        interrupts._INSERT_OPEN.partition("DO")[0] + "DO NOTHING",
        "an_interrupt_is_listed_while_it_is_open",
    ),
    (interrupts, "IN_PARTITION", "o.partition >= ?", "another_partition_sees_no_interrupts"),
    (interrupts, "IN_RUN", "? <> '' AND o.run_id = ?", "another_partition_sees_no_interrupts"),
    (interrupts, "page_query", without_end, "an_ended_run_has_no_open_interrupts"),
    (interrupts, "_decode_position", lambda _: interrupts._START_POSITION, "an_unknown_place_ends_the_list"),
    (child_runs, "MARK_HAS_CHILDREN", "SELECT ?", "a_cancel_request_stands_until_the_child_has_ended"),
    (child_runs, "DELETE_CHILD", "SELECT ?", "a_tree_is_counted_by_its_root"),
    (child_runs, "COUNT_DESCENDANTS", ("partition = ?", "? <> ''"), "another_partition_has_other_children"),
    (run_queries, "BY_PARENT", ("k.parent_no =", "k.run_no <>"), "lists_may_be_of_children"),
    (child_runs, "_PUT_RESULT", ("AND p.completed_at IS NULL", ""), "an_ended_run_gets_no_child_results"),
    (
        child_runs,
        "_PUT_RESULT",
        child_runs._PUT_RESULT.partition("DO")[0] + "DO NOTHING",
        "a_later_child_result_replaces_an_earlier_one",
    ),
    (child_runs, "_ACKNOWLEDGE_RESULT", ("<= ?", "<> ?"), "a_child_result_is_kept_until_it_is_acknowledged"),
    (child_runs, "_ACKNOWLEDGE_RESULT", ("<= ?", ">= 0 * ?"), "a_later_child_result_replaces_an_earlier_one"),
    (child_runs, "_ACKNOWLEDGE_RESULT", ("partition = ?", "? <> ''"), "child_messages_stay_in_their_partition"),
    (child_runs, "DELETE_RESULTS", "SELECT ?", "an_ended_run_gets_no_child_results"),
    (child_runs, "has_pending_result", lambda *_: False, "a_child_stays_until_its_result_is_acknowledged"),
    (child_runs, "_PUT_CANCEL_REQUEST", ("AND k.parent_no = ?", "AND ? > 0"), ORDERED),
    (child_runs, "_PUT_CANCEL_REQUEST", ("AND c.completed_at IS NULL", ""), ORDERED),
    (
        child_runs,
        "_PUT_CANCEL_REQUEST",
        child_runs._PUT_CANCEL_REQUEST.partition("DO")[0] + "DO UPDATE SET reason = excluded.reason",
        ORDERED,
    ),
    (child_runs, "_DELETE_CANCEL_REQUEST", "SELECT ?", ORDERED),
    (child_runs, "CASCADE_TO_AWAITED", child_runs.CASCADE_TO_CHILDREN, CASCADED),
    (child_runs, "CASCADE_TO_CHILDREN", child_runs.CASCADE_TO_AWAITED, CASCADED),
    (child_runs, "CASCADE_TO_AWAITED", ("AND c.completed_at IS NULL", ""), CASCADED),
    (transactions, "add_references", lambda *_: None, "an_asset_that_a_run_names_stays"),
    (assets, "ADD_REFERENCE", ("partition = ?", "? <> ''"), "a_run_refers_to_assets_of_its_partition"),
    (assets, "ADD_REFERENCE", ("partition = ?", "partition <> ?"), "an_asset_that_a_run_names_stays"),
    (assets, "ADD_REFERENCE", assets.ADD_REFERENCE.partition("ON CONFLICT")[0], LAST),
    (assets, "UNREFERENCED", ("refs = 0 AND", ""), LAST),
    (assets, "UNREFERENCED", ("<= ?", "< ?"), "an_existing_asset_can_be_held"),
    (assets, "UNREFERENCED", ("LIMIT", "DESC LIMIT"), "unreferenced_assets_are_tombstoned"),
    (assets, "UNREFERENCED_USAGE", ("refs = 0 AND", ""), "an_asset_that_a_run_names_stays"),
    (assets, "_HOLD", "SELECT ?, ?", "equal_bytes_are_kept_once"),
    (assets, "_usage", lambda *_: AssetUsage(0, 0), "many_at_once_do_not_exceed_the_quota"),
    (assets, "_hold", lambda *_: None, "equal_bytes_are_kept_once"),
    (assets, "_INSERT_TOMBSTONE", "SELECT ?", "a_tombstone_is_known_until_it_is_cleared"),
    (assets, "_DELETE_TOMBSTONE", "SELECT ?", "a_tombstone_is_known_until_it_is_cleared"),
    (assets, "IS_KNOWN_KEY", "SELECT 1 FROM assets WHERE key IN (?, ?)", "a_tombstone_is_known_until_it_is_cleared"),
    (assets, "FIND_ASSET", ("partition = ?", "? <> ''"), "another_partition_sees_no_assets"),
    (assets, "ASSETS_PAGE", ("DESC", ""), "assets_are_paged_newest_first"),
    (assets, "NEWEST_NOT_AFTER", "SELECT 1 WHERE ? IS NULL AND ? IS NULL", BEHIND),
    (assets, "NEWEST_NOT_AFTER", ("<= ?", "< ?"), BEHIND),
    (assets, "NEWEST_NOT_AFTER", ("partition = ?", "? <> ''"), BEHIND),
    (assets, "_REKEY", "SELECT ?, ?", "bytes_that_were_lost_get_another_key"),
    (writer, "_REFUSALS", HostFault, "a_refused_fork_disturbs_no_other_write"),
    (event_log, "check_first_batch", lambda *_: None, "an_inconsistent_fork_is_refused"),
    (forks, "check_first_fork_batch", lambda header, *_: header.fork, "an_inconsistent_fork_is_refused"),
    (idempotency, "find_recorded", lambda *_: None, "one_of_many_forks_takes_a_slot"),
    (transactions, "_INSERT_FORK", "SELECT ?, ?, ?", "forks_are_given_in_the_order_of_creation"),
    (forks, "COPY_EVENTS", ("json_replace(", "iif(1, "), "a_chunk_of_a_fork_names_the_fork"),
    (forks, "COPY_EVENTS", ("'$.runId'", "'$.meta.runId'"), "a_chunk_of_a_fork_names_the_fork"),
    (forks, "COPY_EVENTS", ("CASE type", "CASE 'output.chunk'"), "a_fork_has_the_events_of_its_prefix"),
    (forks, "COPY_EVENTS", ("id >= ?3", "id > ?3"), "a_long_run_is_copied_whole"),
    (forks, "_pieces", lambda _, base, count: [(base, base + 1000)], "a_long_run_is_copied_whole"),
    (forks, "_FIND_HIDDEN", ("sequence < ?", "? > 0"), "a_fork_has_the_hidden_values_of_its_prefix"),
    (forks, "_FIND_HIDDEN", ("sequence < ?", "sequence < max(1, ?)"), "a_fork_has_the_hidden_values_of_its_prefix"),
    (forks, "_COPY_HIDDEN", "SELECT ?, ?", "a_fork_counts_with_its_copy"),
    (forks, "copy_references", lambda *_: None, "an_asset_lives_as_long_as_the_fork"),
    (forks, "add_references", lambda *_: None, "an_asset_lives_as_long_as_the_fork"),
    (
        assets,
        "_COPY_REFERENCES",
        assets._COPY_REFERENCES.partition("ON CONFLICT")[0],
        "an_asset_lives_as_long_as_the_fork",
    ),
    (forks, "FORKS_PAGE", ("f.partition = ?", "? <> ''"), "another_partition_has_other_forks"),
    (forks, "FORKS_PAGE", ("f.source = ?", "? <> ''"), "forks_are_given_in_the_order_of_creation"),
    (forks, "FORKS_PAGE", ("f.run_no > ?", "? <> ''"), "forks_are_given_in_the_order_of_creation"),
    (forks, "run_number", runs.existing_run_number, "a_deleted_fork_leaves_its_source"),
    (assets, "RUN_ASSETS_PAGE", ("r.run_no = ?", "? > 0"), "assets_of_a_run_are_paged_newest_first"),
)
async def test_a_guard_that_is_taken_away_is_missed(
    tmp_path: Path, module: Any, guard: str, without: Any, check: str
) -> None:
    """Without it: another value, or a statement in which one text stands in place of another."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        changed = getattr(module, guard).replace(*without) if isinstance(without, tuple) else without
        patch.setattr(module, guard, changed, raising=guard != "max")
        store = SqliteStore(Path(folder) / "store.db")
        await store.open()
        try:
            with pytest.raises(Exception):  # noqa: B017, PT011 - how it fails depends on the guard
                await CHECKS[check](store)
        finally:
            await store.close()


class Interloper:
    """A reading connection; just before a certain statement somebody else commits."""

    def __init__(self, connection: Any, before: str, commit: Callable[[], None]) -> None:
        self._connection = connection
        self._before = before
        self._commit = commit

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, statement: str, bindings: Any = None) -> Any:
        if statement == self._before:
            self._commit()
        return self._connection.execute(statement, bindings)


def interrupted(path: Path, before: str, read: Callable[[Any], Any]) -> Any:
    """What `read` gives while the run goes from one append to the next, each time the statement comes up."""

    async def fill() -> RunKey:
        store = SqliteStore(path)
        await store.open()
        made = await make_run(store)
        await store.close()
        return made

    made = asyncio.run(fill())
    writer, reader = open_writer(path, None), open_reader(path, None)
    statuses: list[Status] = ["running", "paused"] * 10
    expected = iter(range(-1, 100))

    def commit() -> None:
        at = next(expected)
        rows = (StateRow("variable", "last", b"%d" % (at + 1)),)
        writer.execute("BEGIN IMMEDIATE")
        given = batch(made, at, status=statuses.pop(0), rows=rows)
        transactions.append_batch(writer, RunHeadCache(), made, at, given, ())
        writer.execute("COMMIT")

    try:
        commit()
        return read(Interloper(reader, before, commit))
    finally:
        reader.close(True)
        writer.close(True)


def test_a_stored_run_is_one_view(tmp_path: Path) -> None:
    found: StoredRun = interrupted(
        tmp_path / "store.db",
        runs._READ_ROWS,
        lambda connection: runs.find_run(connection, RunKey(ACME, "run-a")),
    )
    assert found.rows[0].value == b"%d" % found.projection.last_sequence


def test_a_page_is_one_view(tmp_path: Path) -> None:
    query = RunQuery(statuses=("running", "paused"))
    page = interrupted(
        tmp_path / "store.db", run_queries.BY_STATUS, lambda connection: run_queries.list_runs(connection, ACME, query)
    )
    assert len(page.runs) == 1


@pytest.mark.parametrize(
    ("module", "proof"), [(runs, test_a_stored_run_is_one_view), (run_queries, test_a_page_is_one_view)]
)
def test_without_a_snapshot_a_view_is_torn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Any, proof: Callable[[Path], None]
) -> None:
    monkeypatch.setattr(module, "snapshot", nullcontext)
    with pytest.raises(AssertionError):
        proof(tmp_path)
