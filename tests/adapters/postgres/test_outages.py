"""Lost connections: a write has happened, or it has not, or the caller is told that this is unknown."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.adapters.postgres.proxy import Proxy, proxied
from tests.adapters.postgres.stores import WAIT_SECONDS, main_server, open_store, session, writer_of
from tests.harness.cases import fails_without
from tests.harness.postgres_server import PostgresServer, distribution_version, new_schema
from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.database.lost_sessions import LostSessions
from weftwork.adapters.postgres.store import PostgresStore
from weftwork.ports.storage.event_log import OutcomeUnknown, RunCreated, StoreUnavailable
from weftwork.protocol.errors import HostFault
from weftwork.testing.storage.annotations import annotation
from weftwork.testing.storage.harness import catch, opened
from weftwork.testing.storage.samples import ACME, batch, header, make_run, record

pytestmark = pytest.mark.slow


@asynccontextmanager
async def behind_proxy() -> AsyncGenerator[tuple[PostgresStore, Proxy], None]:
    server = main_server()
    async with proxied(server.port) as (proxy, port):
        url = server.url().replace(f":{server.port}/", f":{port}/")
        async with opened(PostgresStore(url, new_schema("proxy"), may_migrate=True)) as store:
            yield store, proxy


async def until_ready(store: PostgresStore) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while await catch(store.log.check_ready()) is not None:
            await asyncio.sleep(0.02)


async def test_a_lost_answer_leaves_the_outcome_unknown() -> None:
    """The server has committed, and the answer is lost. The caller is told so, and finds the write by reading."""
    async with behind_proxy() as (store, proxy):
        run = await make_run(store, status="running")
        proxy.lose_answers = True
        assert isinstance(await catch(store.log.append(run, 0, batch(run, 0))), OutcomeUnknown)
        proxy.lose_answers = False
        await until_ready(store)
        assert [each.event_id for each in await store.log.read(run, -1, 10)] == ["event-0", "event-1"]
        assert await store.log.append(run, 1, batch(run, 1)) is None
        assert writer_of(store).reconnects == 1


@fails_without(LostSessions, "end", lambda self, connection: asyncio.sleep(0))
async def test_what_is_not_there_after_a_lost_answer_does_not_happen_later() -> None:
    """The server is still busy with the write when the connection is lost, and could finish it after the caller has
    read that it is not there."""
    async with behind_proxy() as (store, proxy), session(main_address(store)) as other:
        run = await make_run(store, status="running")
        await store.log.append(run, 0, batch(run, 0))
        await other.execute("BEGIN")
        await other.execute("SELECT FROM runs FOR UPDATE")
        writing = asyncio.create_task(catch(store.log.append(run, 1, batch(run, 1))))
        async with asyncio.timeout(WAIT_SECONDS):
            while not await other.fetchval(WAITING):
                await asyncio.sleep(0.02)
        proxy.cut()
        assert isinstance(await writing, OutcomeUnknown)
        assert len(await store.log.read(run, -1, 10)) == 2
        await other.execute("COMMIT")
        async with asyncio.timeout(WAIT_SECONDS):
            while await other.fetchval(BUSY):
                await asyncio.sleep(0.02)
        assert len(await store.log.read(run, -1, 10)) == 2, "a write happened after it was read back"


WAITING = """
    SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'weftwork writer'
      AND pid IN (SELECT pid FROM pg_locks WHERE NOT granted) AND query LIKE '%UPDATE runs%')
"""
BUSY = """
    SELECT EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' AND application_name = 'weftwork writer'
      AND query LIKE '%UPDATE runs%')
"""


def main_address(store: PostgresStore) -> StoreAddress:
    """The address of a store without the proxy."""
    return StoreAddress(main_server().socket_url(), store.address.schema)


async def test_a_statement_that_could_not_be_prepared_has_not_happened() -> None:
    async with behind_proxy() as (store, proxy):
        run = await make_run(store)
        proxy.lose_answers = True
        error = await catch(store.log.append(run, -1, batch(run, -1)))
        assert type(error) is StoreUnavailable
        proxy.lose_answers = False
        await until_ready(store)
        assert await store.log.read(run, -1, 10) == []


async def test_a_transaction_whose_begin_is_lost_has_not_happened() -> None:
    async with behind_proxy() as (store, proxy):
        run = await make_run(store, status="running")
        await store.log.read_run(run)
        proxy.lose_answers = True
        error = await catch(store.annotations.add(run, annotation(), 5))
        assert type(error) is StoreUnavailable
        proxy.lose_answers = False
        await until_ready(store)
        assert await store.annotations.find(run, "a1") is None


async def test_a_transaction_whose_commit_is_lost_may_have_happened() -> None:
    async with behind_proxy() as (store, proxy):
        run = await make_run(store, status="running")
        await store.log.read_run(run)
        proxy.lose_after = b"COMMIT"
        assert isinstance(await catch(store.annotations.add(run, annotation(), 5)), OutcomeUnknown)
        proxy.lose_after, proxy.lose_answers = b"", False
        await until_ready(store)
        assert await store.annotations.find(run, "a1") == annotation()


async def test_every_write_of_a_lost_statement_is_unknown_and_none_is_repeated() -> None:
    async with behind_proxy() as (store, proxy):
        await store.log.create(header("first"), (), record("first"))
        proxy.lose_answers = True
        calls = [store.log.create(header(f"run-{number}"), (), record(f"slot-{number}")) for number in range(20)]
        errors = await asyncio.gather(*map(catch, calls))
        assert {type(error) for error in errors} <= {OutcomeUnknown, StoreUnavailable}
        assert any(isinstance(error, OutcomeUnknown) for error in errors)
        proxy.lose_answers = False
        await until_ready(store)
        for number, error in enumerate(errors):
            stored = await store.log.read_run(header(f"run-{number}").key) is not None
            assert stored == (await store.records.find_record(ACME, f"slot-{number}", 0) is not None)
            assert isinstance(error, OutcomeUnknown) or not stored


async def test_while_nothing_can_connect_calls_fail_at_once_and_later_work_again() -> None:
    async with behind_proxy() as (store, proxy):
        run = await make_run(store)
        proxy.refuse = True
        proxy.cut()
        for _ in range(20):
            error = await catch(store.log.append(run, -1, batch(run, -1)))
            assert isinstance(error, StoreUnavailable)
            assert isinstance(await catch(store.log.read_run(run)), StoreUnavailable)
        proxy.refuse = False
        await until_ready(store)
        last = await store.log.projection(run)
        assert last is not None
        assert await store.log.append(run, last.last_sequence, batch(run, last.last_sequence)) is None


async def test_a_terminated_session_is_replaced() -> None:
    async with open_store() as store, session(store.address) as other:
        run = await make_run(store)
        await other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'weftwork%' "
            "AND pid <> pg_backend_pid()"
        )
        await until_ready(store)
        assert await store.log.append(run, -1, batch(run, -1)) is None
        assert len(await store.log.read(run, -1, 10)) == 1


async def test_a_crash_of_the_server_loses_nothing_that_was_acknowledged() -> None:
    version = distribution_version()
    if version is None:
        main_server()
    with PostgresServer(str(version)) as server:
        store = PostgresStore(server.socket_url(), may_migrate=True)
        async with opened(store):
            acknowledged: list[str] = []
            stopped = asyncio.Event()

            async def create(client: int) -> None:
                number = 0
                while not stopped.is_set():
                    given = header(f"run-{client}-{number}")
                    error = await catch(store.log.create(given, first=batch(given.key, -1, 3, "completed")))
                    if error is None:
                        acknowledged.append(given.run_id)
                    else:
                        assert isinstance(error, StoreUnavailable)
                        await asyncio.sleep(0.01)
                    number += 1

            clients = [asyncio.create_task(create(client)) for client in range(8)]
            for _ in range(2):
                before = len(acknowledged)
                async with asyncio.timeout(WAIT_SECONDS):
                    while len(acknowledged) < before + 50:
                        await asyncio.sleep(0.01)
                await asyncio.to_thread(server.stop, "immediate")
                await asyncio.to_thread(server.start)
                await until_ready(store)
            stopped.set()
            await asyncio.gather(*clients)
            assert len(acknowledged) >= 100
            for run_id in acknowledged:
                events = await store.log.read(header(run_id).key, -1, 10)
                assert [each.sequence for each in events] == [0, 1, 2]


async def test_a_locked_run_does_not_hold_up_the_others() -> None:
    """A process that is suspended inside a transaction: its run waits for the lock time-out, and the session ends."""
    async with open_store() as store, session(store.address, idle_in_transaction_session_timeout="500ms") as other:
        runs = [await make_run(store, f"run-{number}") for number in range(6)]
        await other.execute("BEGIN")
        await other.execute("UPDATE runs SET touched_at = 1 WHERE run_id = 'run-3'")
        async with asyncio.timeout(WAIT_SECONDS):
            errors = await asyncio.gather(*(catch(store.log.append(run, -1, batch(run, -1))) for run in runs))
            assert errors == [None] * 6
            while not other.is_closed():
                await asyncio.sleep(0.05)


async def test_a_cancelled_caller_does_not_cancel_a_write() -> None:
    async with open_store() as store:
        run = await make_run(store, status="running")
        calls: list[Any] = [
            store.log.append(run, 0, batch(run, 0)),
            store.annotations.add(run, annotation(), 5),
            store.records.save_record(record()),
        ]
        tasks = [asyncio.ensure_future(call) for call in calls]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(WAIT_SECONDS):
            while await store.annotations.find(run, "a1") is None or len(await store.log.read(run, -1, 10)) < 2:
                await asyncio.sleep(0.01)
            while await store.records.find_record(ACME, "slot-1", 0) is None:
                await asyncio.sleep(0.01)


async def test_closing_finishes_the_writes_that_were_accepted() -> None:
    async with open_store() as store:
        calls = [asyncio.ensure_future(store.log.create(header(f"run-{number}"))) for number in range(100)]
        run = header("exclusive", scope_id="own")
        other = asyncio.ensure_future(store.log.create(run, exclusive=True))
        await asyncio.sleep(0)
        await store.close()
        assert await asyncio.gather(*calls, other) == [RunCreated()] * 101


async def test_a_bad_write_does_not_affect_the_others() -> None:
    async with open_store() as store:
        for name, bad, message in (
            ("a", header("bad-a", workflow_id="a\0b"), "U+0000"),
            ("b", header("bad-b", scope_id=7), "DataError"),
            ("c", header("bad-c", tags=7), "TypeError"),
        ):
            given = [header(f"run-{name}{number}") for number in range(10)]
            calls = [store.log.create(each) for each in (*given[:5], bad, *given[5:])]
            results = await asyncio.gather(*calls, return_exceptions=True)
            fault = results.pop(5)
            assert isinstance(fault, HostFault)
            assert message in str(fault)
            assert results == [RunCreated()] * 10
            assert await store.log.read_run(bad.key) is None
        assert writer_of(store).reconnects == 0


async def test_when_all_sessions_are_busy_a_call_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.adapters.postgres.database.pool.WAIT_SECONDS", 0.05)
    async with open_store(sessions=1) as store:
        pool = store._pool  # pyright: ignore[reportPrivateUsage]
        async with pool.session():
            assert isinstance(await catch(store.log.read_run(header().key)), StoreUnavailable)
        assert await store.log.read_run(header().key) is None
