"""The election: one executor, replaced only by force or after a silence, and never twice with the same epoch."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from tests.adapters.postgres.proxy import proxied
from tests.adapters.postgres.stores import WAIT_SECONDS, main_server, open_pair, session
from tests.harness.postgres_server import new_schema
from weftwork.adapters.postgres.database.connection import PostgresConnection
from weftwork.adapters.postgres.processes import election
from weftwork.adapters.postgres.processes.election import ElectionTimes
from weftwork.adapters.postgres.store import PostgresStore
from weftwork.ports.storage.event_log import FenceLost, StoreUnavailable
from weftwork.ports.storage.host_lock import HostLocked
from weftwork.testing.storage.harness import catch, opened
from weftwork.testing.storage.samples import batch, header

pytestmark = pytest.mark.slow

FAST = ElectionTimes(touch=0.05, silence=0.5, force=5.0, stall=0.3)


@asynccontextmanager
async def candidates() -> AsyncGenerator[tuple[PostgresStore, PostgresStore], None]:
    async with open_pair(election_times=FAST) as pair, asyncio.timeout(WAIT_SECONDS):
        yield pair


async def test_a_second_executor_is_refused_and_told_who_the_first_is() -> None:
    async with candidates() as (first, second):
        epoch = await first.election.take()
        error = await catch(second.election.take())
        assert isinstance(error, HostLocked)
        assert "process" in str(error)
        await first.election.release()
        assert await second.election.take() > epoch
        assert not second.election.lost.is_set()


async def test_closing_the_store_ends_the_term() -> None:
    async with candidates() as (first, second):
        epoch = await first.election.take()
        await first.close()
        assert await second.election.take() > epoch


async def test_force_replaces_an_executor_and_it_finds_out() -> None:
    async with candidates() as (first, second):
        epoch = await first.election.take()
        run = header("run-a").key
        await first.log.create(header("run-a"), fence=epoch)
        forced = await second.election.take(force=True)
        assert forced > epoch
        await first.election.lost.wait()
        assert await first.ownership.take(run, epoch) is False
        assert await second.ownership.take(run, forced) is True
        assert isinstance(await catch(first.log.append(run, -1, batch(run, -1), epoch)), FenceLost)
        assert await second.log.append(run, -1, batch(run, -1), forced) is None
        assert not second.election.lost.is_set()


async def test_force_without_an_executor_just_elects() -> None:
    async with candidates() as (first, second):
        assert await second.election.take(force=True) > 0
        assert not first.election.lost.is_set()


async def test_an_executor_that_was_cut_off_keeps_its_epoch_if_nobody_else_was_elected() -> None:
    async with candidates() as (first, second), session(first.address) as other:
        epoch = await first.election.take()
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'weftwork executor'"
        holders = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
        before = await other.fetch(holders)
        await other.execute(ended)
        while not (now := await other.fetch(holders)) or now == before:
            await asyncio.sleep(0.01)
        assert isinstance(await catch(second.election.take()), HostLocked)
        assert not first.election.lost.is_set()
        assert await other.fetchval("SELECT epoch FROM elections") == epoch


async def test_a_silent_executor_loses_the_lock_and_finds_out_when_it_is_back() -> None:
    """A proxy forwards nothing for a while: the server ends the session after the silence, as for a suspended
    process."""
    server, schema = main_server(), new_schema("silent")
    async with proxied(server.port) as (proxy, port), asyncio.timeout(WAIT_SECONDS):
        far = server.url().replace(f":{server.port}/", f":{port}/")
        cut = PostgresStore(far, schema, may_migrate=True, election_times=FAST)
        near = PostgresStore(server.socket_url(), schema, election_times=FAST)
        async with opened(cut), opened(near):
            epoch = await cut.election.take()
            proxy.refuse = True
            proxy.pause()
            while True:
                try:
                    successor = await near.election.take()
                    break
                except HostLocked:
                    await asyncio.sleep(0.02)
            assert successor > epoch
            proxy.refuse = False
            proxy.cut()
            await cut.election.lost.wait()
            assert not near.election.lost.is_set()


async def stall_with_lock(store: PostgresStore, other: PostgresConnection) -> asyncio.Task[object]:
    """Suspend a session between two messages of a statement, while it locks a run; a task that waits for the lock."""
    await store.log.create(header("run-a"))
    await other.execute("BEGIN")
    await other.execute("UPDATE runs SET fence = fence")
    await other.prepare("SELECT 2")  # without a Sync: for the server, the statement is not over
    return asyncio.create_task(catch(store.ownership.take(header("run-a").key, await store.election.take())))


async def test_a_session_that_was_suspended_inside_a_statement_loses_its_locks() -> None:
    async with candidates() as (store, _), session(store.address) as other:
        assert await (await stall_with_lock(store, other)) is None


async def test_no_timeout_of_the_server_ends_such_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "_END_STALLED", "SELECT $1::float")
    times = {"idle_in_transaction_session_timeout": "100ms", "statement_timeout": "100ms"}
    async with candidates() as (store, _), session(store.address, **times) as other:
        assert isinstance(await (await stall_with_lock(store, other)), StoreUnavailable)
        assert not other.is_closed()


async def test_a_newer_release_is_not_followed_by_an_older_one() -> None:
    async with candidates() as (first, second), session(first.address) as other:
        await first.election.take()
        await first.election.release()
        await other.execute("UPDATE elections SET engine_version = engine_version + 1")
        error = await catch(second.election.take())
        assert isinstance(error, HostLocked)
        assert "newer release" in str(error)


async def test_many_candidates_elect_one() -> None:
    async with candidates() as (first, second):
        for _ in range(5):
            results = await asyncio.gather(first.election.take(), second.election.take(), return_exceptions=True)
            assert sum(isinstance(each, int) for each in results) == 1
            assert sum(isinstance(each, HostLocked) for each in results) == 1
            await first.election.release()
            await second.election.release()
