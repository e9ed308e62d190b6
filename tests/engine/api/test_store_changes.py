"""Changes that another process makes to the store reach a running host, by hints and without them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest

from weftwork.adapters.memory.store import MemoryStore
from weftwork.engine.api.keyring import Keyring
from weftwork.engine.api.store_changes import POLL_MS, StoreChanges
from weftwork.engine.signer import Signer
from weftwork.ports.hints import GONE, KEYS, MISSED, SIGNING
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.wire.v1.routes import SCOPES
from weftwork.testing import ManualClock
from weftwork.testing.deterministic import SequentialIds


class Process:
    """The keys of one of two processes on a store."""

    def __init__(self, store: MemoryStore, clock: ManualClock, ids: SequentialIds) -> None:
        self.ring = Keyring(store.keys, clock, ids, SCOPES)
        self.signer = Signer(store.signing, clock, ids)

    async def load(self) -> None:
        await self.ring.load()
        await self.signer.load()

    def knows(self, key: str) -> bool:
        try:
            self.ring.authenticate(key)
        except ClientFault:
            return False
        return True


class FakeHints:
    """Hands the test the function that gets the hints."""

    is_listening = False
    on_hint: Callable[[str], None]

    def listen(self, receiver: Callable[[str], None]) -> None:
        self.on_hint = receiver

    def send(self, *hints: str) -> None: ...

    async def open(self) -> None: ...

    async def flush(self) -> None: ...

    async def close(self) -> None: ...


class FakeExecutor:
    forgotten = looks = 0

    def forget_ended_runs(self) -> None:
        self.forgotten += 1

    async def find_work(self) -> None:
        self.looks += 1


class Bench:
    def __init__(self) -> None:
        self.store, self.clock, ids = MemoryStore(), ManualClock(), SequentialIds()
        self.host, self.other = Process(self.store, self.clock, ids), Process(self.store, self.clock, ids)
        self.hints, self.executor = FakeHints(), FakeExecutor()
        self.changes = StoreChanges(
            self.host.ring, self.host.signer, cast("Any", self.executor), self.clock, self.hints
        )


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    await made.store.open()
    await made.host.load()
    await made.other.load()
    await made.changes.start()
    await settle()
    yield made
    await made.changes.close()


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_hint_makes_the_host_read_the_keys(bench: Bench) -> None:
    key, row = await bench.other.ring.create("acme")
    assert not bench.host.knows(key)
    bench.hints.on_hint(KEYS)
    await settle()
    assert bench.host.knows(key)
    await bench.other.ring.revoke(row.key_id)
    bench.hints.on_hint(KEYS)
    await settle()
    assert not bench.host.knows(key)


async def test_a_dropped_signing_key_is_forgotten_and_the_new_one_signs(bench: Bench) -> None:
    old = bench.host.signer.kid
    signature = bench.host.signer.sign("links", b"x")
    await bench.other.signer.drop(old)
    assert bench.host.signer.verify("links", old, b"x", signature)
    bench.hints.on_hint(SIGNING)
    await settle()
    assert not bench.host.signer.verify("links", old, b"x", signature)
    assert bench.host.signer.kid == bench.other.signer.kid != old
    assert bench.other.signer.verify("links", bench.host.signer.kid, b"x", bench.host.signer.sign("links", b"x"))


async def test_deleted_runs_are_forgotten(bench: Bench) -> None:
    bench.hints.on_hint("of a newer release")
    await settle()
    assert bench.executor.forgotten == 0
    bench.hints.on_hint(GONE)
    await settle()
    assert bench.executor.forgotten == 1
    bench.hints.on_hint(MISSED)
    await settle()
    assert bench.executor.forgotten == 2


async def test_without_a_hint_the_host_looks_at_intervals(bench: Bench) -> None:
    key, _ = await bench.other.ring.create("acme")
    await bench.other.signer.rotate()
    bench.clock.advance(POLL_MS - 1)
    await settle()
    assert not bench.host.knows(key)
    bench.clock.advance(1)
    await settle()
    assert bench.host.knows(key)
    assert bench.host.signer.kid == bench.other.signer.kid
    assert (bench.executor.forgotten, bench.executor.looks) == (1, 1)


async def test_an_outage_of_the_store_is_survived(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    key, _ = await bench.other.ring.create("acme")

    async def fail() -> Any:
        raise StoreUnavailable("down")

    monkeypatch.setattr(bench.store.keys, "all", fail)
    bench.hints.on_hint(KEYS)
    await settle()
    monkeypatch.undo()
    bench.clock.advance(POLL_MS)
    await settle()
    assert bench.host.knows(key)


async def test_a_read_that_a_write_has_overtaken_is_dropped(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    _, row = await bench.host.ring.create("acme")
    read, may_go = bench.store.keys.all, asyncio.Event()

    async def slow() -> Any:
        rows = await read()
        await may_go.wait()
        return rows

    monkeypatch.setattr(bench.store.keys, "all", slow)
    bench.hints.on_hint(KEYS)
    await settle()
    await bench.host.ring.revoke(row.key_id)
    may_go.set()
    await settle()
    (found,) = bench.host.ring.all()
    assert found.revoked_at is not None


async def test_a_read_of_signing_keys_that_a_write_has_overtaken_is_dropped(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, may_go = bench.store.signing.all, asyncio.Event()

    async def slow() -> Any:
        rows = await read()
        await may_go.wait()
        return rows

    monkeypatch.setattr(bench.store.signing, "all", slow)
    bench.hints.on_hint(SIGNING)
    await settle()
    key = await bench.host.signer.rotate()
    may_go.set()
    await settle()
    assert bench.host.signer.kid == key.kid
    assert bench.host.signer.sign("links", b"x")


async def test_the_readiness_probe_says_how_changes_are_noticed(bench: Bench) -> None:
    assert bench.changes.state == "polling"
    bench.hints.is_listening = True
    assert bench.changes.state == "listening"
    alone = StoreChanges(bench.host.ring, bench.host.signer, cast("Any", bench.executor), bench.clock)
    await alone.start()
    assert alone.state == "local"
    await alone.close()
