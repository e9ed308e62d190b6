"""Hints reach every process that listens, together and once, and a lost session is noticed."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from tests.adapters.postgres.stores import WAIT_SECONDS, open_pair, session
from weftwork.adapters.postgres.database.address import StoreAddress
from weftwork.adapters.postgres.processes import hints
from weftwork.adapters.postgres.processes.hints import MAX_MESSAGE_BYTES, MISSED, PostgresHints, pack
from weftwork.adapters.postgres.store import PostgresStore

pytestmark = pytest.mark.slow


class Receiver:
    """Remembers the hints that it was told."""

    def __init__(self, sender: PostgresHints) -> None:
        self.told: list[str] = []
        self._changed = asyncio.Event()
        sender.listen(self._tell)

    def _tell(self, hint: str) -> None:
        self.told.append(hint)
        self._changed.set()

    async def until(self, hint: str) -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            while hint not in self.told:
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def two_processes() -> AsyncGenerator[tuple[PostgresHints, PostgresHints, StoreAddress], None]:
    async with open_pair() as pair:
        stores: tuple[PostgresStore, PostgresStore] = pair
        first, second = [PostgresHints(store.address) for store in stores]
        for each in (first, second):
            await each.open()
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                for each in (first, second):
                    await each.wait_until_listening()
            yield first, second, stores[0].address
        finally:
            for each in (first, second):
                await each.close()
                await each.close()


async def test_a_hint_reaches_all_processes_of_the_schema() -> None:
    async with two_processes() as (first, second, _), two_processes() as (other, _, _):
        near, far, elsewhere = Receiver(first), Receiver(second), Receiver(other)
        first.send("keys", "run-1:3", "run-1:3")
        first.send("run-1:3", "definitions:zoë")
        for receiver in (near, far):
            await receiver.until("definitions:zoë")
            assert receiver.told == ["keys", "run-1:3", "definitions:zoë"]
        other.send("end")
        await elsewhere.until("end")
        assert elsewhere.told == ["end"]


async def test_a_process_that_ends_can_wait_until_its_hints_were_sent() -> None:
    async with two_processes() as (first, second, _):
        assert first.is_listening
        far = Receiver(second)
        await first.flush()
        first.send("keys")
        await first.flush()
        await first.close()
        assert not first.is_listening
        await far.until("keys")


async def test_after_a_lost_session_the_receiver_is_told_that_hints_may_be_missing() -> None:
    async with two_processes() as (first, second, address), session(address) as own:
        far = Receiver(second)
        await own.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'weftwork hints'"
        )
        await far.until(MISSED)
        while "later" not in far.told:
            first.send("later")
            await asyncio.sleep(0.02)


def test_messages_stay_below_the_limit_of_the_server() -> None:
    names = [f"run-{number}:{number}" for number in range(3000)]
    messages = pack(dict.fromkeys(names))
    assert [name for message in messages for name in message.split("\n")] == names
    assert all(len(message.encode()) <= MAX_MESSAGE_BYTES for message in messages)
    assert len(messages) < 10
    assert pack({"é" * 5000: None, "keys": None}) == ["\nkeys"]
    assert pack({}) == []


async def test_too_many_hints_become_one() -> None:
    async with two_processes() as (first, second, _):
        far = Receiver(second)
        first.send(*(str(number) for number in range(hints.MAX_WAITING + 1)))
        await far.until(MISSED)
        assert far.told == [MISSED]
