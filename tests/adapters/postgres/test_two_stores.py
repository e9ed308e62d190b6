"""Two stores on one database keep every promise together, and each guard against a race is needed."""

import asyncio
import itertools
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.adapters.postgres.stores import WAIT_SECONDS, open_pair, session, writer_of
from tests.harness.cases import each_case
from weftwork.adapters.postgres import array_statements
from weftwork.adapters.postgres.array_statements import append_statement
from weftwork.adapters.postgres.database import writer
from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.writer import MAX_BATCH, PostgresWriter
from weftwork.ports.storage.event_log import FenceLost, RunCreated, SequenceConflict
from weftwork.protocol.run.projection import StateRow
from weftwork.testing import storage
from weftwork.testing.storage.concurrent import two_stores
from weftwork.testing.storage.harness import catch
from weftwork.testing.storage.samples import batch, header, record

pytestmark = pytest.mark.slow


async def prove(check: storage.PairCheck) -> int:
    """Run a check, and return how many statements had to be repeated in parts."""
    async with open_pair() as pair, asyncio.timeout(WAIT_SECONDS):
        await check(pair)
        return sum(writer_of(store).splits for store in pair)


async def breaks(check: storage.PairCheck, attempts: int = 10) -> bool:
    """Whether the check fails, or a statement fails, in one of several attempts."""
    for _ in range(attempts):
        try:
            if await prove(check):
                return True
        except AssertionError:
            return True
        except ValueError:  # from a destructuring that finds two winners
            return True
    return False


@each_case("check", *storage.PAIR_CHECKS, ids=lambda check: check.__name__)
async def test_two_stores_keep_the_promise_together(check: storage.PairCheck) -> None:
    # A violation of a unique index is the only reason for which a statement of these checks may fail.
    allowed = (two_stores.a_run_id_is_created_once, two_stores.an_asset_is_deleted_or_referenced)
    splits = await prove(check)
    assert splits == 0 or check in allowed


def test_a_check_says_what_it_proves() -> None:
    assert [check.__name__ for check in storage.PAIR_CHECKS if not check.__doc__] == []


async def test_without_an_order_of_slots_two_stores_block_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "lock_order", lambda _: 0)
    assert await breaks(two_stores.opposite_orders_of_slots_do_not_block)


async def test_equal_slots_in_one_statement_break_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_of_one_kind(self: PostgresWriter) -> list[Any]:
        waiting: Any = self._waiting  # pyright: ignore[reportPrivateUsage]
        kind = waiting[0].kind
        chosen = [each for each in waiting if each.kind is kind][:MAX_BATCH]
        for each in chosen:
            waiting.remove(each)
        return sorted(chosen, key=writer.lock_order)

    monkeypatch.setattr(PostgresWriter, "_next_batch", all_of_one_kind)
    assert await breaks(two_stores.a_slot_is_taken_once_among_other_writes)


@each_case(
    "check",
    two_stores.one_of_two_takes_a_scope,
    two_stores.a_tenant_stays_below_its_quota,
    two_stores.a_tenant_stays_below_its_registrations,
    two_stores.a_run_stays_below_its_annotations,
    ids=lambda check: check.__name__,
)
async def test_without_advisory_locks_both_stores_decide_alike(check: storage.PairCheck) -> None:
    with pytest.MonkeyPatch.context() as patch:
        keys = itertools.count(1)
        patch.setattr(StoreAddress, "lock_key", lambda *_: next(keys))
        assert await breaks(check)


FENCE = "({g}.fence IS NULL OR r.fence = {g}.fence)"
EXPECTED = "r.last_sequence = {g}.expected"


def without(condition: str, statements: tuple[str, ...]) -> Callable[[pytest.MonkeyPatch], None]:
    """Removes a condition from parts of the append statement."""

    def remove(patch: pytest.MonkeyPatch) -> None:
        for name in statements:
            text = getattr(array_statements, name)
            letter = "g" if name == "_LOCATE" else "w"
            assert condition.format(g=letter) in text
            text = text.replace(condition.format(g=letter), "true")
            # Recent releases of PostgreSQL also notice that the row has moved.
            patch.setattr(array_statements, name, text.replace("r.ctid = w.place", "r.run_no = w.run_no"))

    return remove


def nothing(patch: pytest.MonkeyPatch) -> None: ...


@each_case(
    "change, error, remove, refused",
    ("fence = 2", FenceLost, nothing, True),
    ("fence = 2", FenceLost, without(FENCE, ("_UPDATE_RUN",)), False),
    ("last_sequence = 3", SequenceConflict, nothing, True),
    ("last_sequence = 3", SequenceConflict, without(EXPECTED, ("_UPDATE_RUN",)), False),
)
async def test_a_run_that_changes_while_an_append_waits_refuses_it(
    change: str, error: type[Exception], remove: Callable[[pytest.MonkeyPatch], None], refused: bool
) -> None:
    """The append has found the run as expected, and waits for the lock of another process, which changes it."""
    with pytest.MonkeyPatch.context() as patch:
        array_statements._append_query.cache_clear()  # pyright: ignore[reportPrivateUsage]
        remove(patch)
        async with open_pair() as (store, _), session(store.address) as other, asyncio.timeout(WAIT_SECONDS):
            given = header("run-a")
            assert await store.log.create(given, fence=1) == RunCreated()
            await other.execute("BEGIN")
            await other.execute(f"UPDATE runs SET {change}")
            append = asyncio.ensure_future(catch(store.log.append(given.key, -1, batch(given.key, -1), 1)))
            while not await other.fetchval("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"):
                await asyncio.sleep(0.01)
            await other.execute("COMMIT")
            assert isinstance(await append, error) is refused
            events = await store.log.read(given.key, -1, 10)
            assert len(events) == (0 if refused else 1)
    array_statements._append_query.cache_clear()  # pyright: ignore[reportPrivateUsage]


async def test_without_any_fence_a_replaced_store_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    array_statements._append_query.cache_clear()  # pyright: ignore[reportPrivateUsage]
    without(FENCE, ("_UPDATE_RUN", "_LOCATE"))(monkeypatch)
    try:
        with pytest.raises(AssertionError, match="the fence was never lost"):
            await prove(two_stores.a_run_that_was_taken_accepts_no_old_fence)
    finally:
        monkeypatch.undo()
        array_statements._append_query.cache_clear()  # pyright: ignore[reportPrivateUsage]


async def test_rows_are_found_directly_whatever_the_size_of_the_tables() -> None:
    """The statement is planned once, for empty tables: a plan that reads a whole index would be used until the next
    ANALYZE."""
    async with open_pair() as (store, _), session(store.address, **writer.PLANNER) as own:
        given = header("run-a")
        ended = batch(given.key, -1, 3, "completed", (StateRow("node", "n", b"1"),), assets=("0" * 64,))
        query, arguments = append_statement([array_statements.Append(given.key, -1, ended, record(), None)])
        await own.execute(f"PREPARE appending ({', '.join(['unknown'] * len(arguments))}) AS {query}")
        nulls = ", ".join(["NULL"] * len(arguments))
        plan = [row[0].strip() for row in await own.fetch(f"EXPLAIN EXECUTE appending ({nulls})")]
        scans = [
            re.sub(r"(_\d+)?  \(cost.*", "", line.removeprefix("->  "))
            for line in plan
            if re.search(r"on (runs|assets)", line)
        ]
        assert sorted(scans) == [
            "Index Scan using assets_sha256_partition_key on assets f",
            "Index Scan using runs_run_id_partition_key on runs r",
            "Tid Scan on runs r",
            "Update on runs r",
        ]
        assert any(line.startswith("Index Cond: (run_id = ") for line in plan)
