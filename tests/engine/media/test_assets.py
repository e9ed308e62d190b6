"""Assets: uploads, limits and listings for callers; and the sweep, which keeps what is needed."""

import hashlib
from collections.abc import AsyncGenerator

import anyio
import pytest

from tests.harness.cases import present
from tests.harness.engine_harness import CALLER, fault_of
from tests.harness.retained_runs import TESTER
from weftwork.adapters.blobs.memory import MemoryBlobs
from weftwork.adapters.memory.store import MemoryStore
from weftwork.engine.api import assets
from weftwork.engine.api.assets import TenantAssets
from weftwork.engine.media.asset_sweep import STRAY_AGE_MS, STRAY_SCAN_INTERVAL_MS, AssetSweep
from weftwork.engine.media.assets import DEFAULT_HOLD_MS, Assets, BytesMissing
from weftwork.engine.signer import Signer
from weftwork.ports.storage.assets import StoredAsset
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.wire.v1.assets import ASSET_PREFIXES
from weftwork.testing.deterministic import ManualClock, SequentialIds
from weftwork.testing.storage.samples import batch, header

PLACE = "acme~live"


class AssetHarness:
    def __init__(self, limits: Limits | None = None) -> None:
        self.clock, ids = ManualClock(), SequentialIds()
        self.store = MemoryStore()
        self.blobs = MemoryBlobs(self.clock, ids)
        self.signer = Signer(self.store.signing, self.clock, ids)
        self.assets = Assets(
            self.store.assets, self.blobs, self.signer, self.clock, limits or Limits(), "", prefixes=ASSET_PREFIXES
        )
        self.sweep = AssetSweep(self.store.assets, self.blobs, self.clock, self.assets.unconfirmed_keys)

    async def open(self) -> "AssetHarness":
        await self.store.open()
        await self.blobs.open()
        return self

    async def referring(self, run_id: str, *assets: StoredAsset) -> RunKey:
        """A run that has ended, and whose inputs name these."""
        made = header(run_id, PLACE, assets=tuple(each.sha256 for each in assets))
        await self.store.log.create(made, first=batch(made.key, -1, status="completed"))
        return made.key

    async def keys(self) -> set[str]:
        return {key async for key in self.blobs.keys(self.clock.now() + 1)}


@pytest.mark.rule("media-80")
async def test_what_nobody_refers_to_goes_when_nobody_holds_it_any_more() -> None:
    house = await AssetHarness().open()
    needed = await house.assets.put(PLACE, b"needed")
    idle = await house.assets.put(PLACE, b"idle")
    await house.referring("run-0000000000000001", needed)
    assert (await house.sweep.count()).count == 0
    house.clock.advance(DEFAULT_HOLD_MS + 1)
    assert (await house.sweep.count()).count == 1
    swept = await house.sweep.prune()
    assert (swept.deleted, swept.freed, swept.more) == (1, 4, False)
    assert await house.keys() == {needed.key}
    assert await house.assets.find(PLACE, f"weftwork-asset:{idle.sha256}") is None
    assert (await house.store.assets.usage(PLACE)).size == len(b"needed")


@pytest.mark.rule("media-80")
async def test_an_asset_of_two_runs_stays_until_both_are_gone() -> None:
    house = await AssetHarness().open()
    shared = await house.assets.put(PLACE, b"shared")
    runs = [await house.referring(f"run-000000000000000{at}", shared) for at in (1, 2)]
    house.clock.advance(DEFAULT_HOLD_MS + 1)
    for left, key in enumerate(runs):
        await house.sweep.prune()
        assert await house.keys() == {shared.key}, left
        assert await house.store.retention.delete(key, house.clock.now()) is True
        while await house.store.retention.purge():
            pass
    await house.sweep.prune()
    assert await house.keys() == set()


@pytest.mark.rule("media-80")
async def test_a_sweep_that_was_cut_off_is_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    house = await AssetHarness().open()
    for text in (b"a", b"b", b"c"):
        await house.assets.put(PLACE, text)
    house.clock.advance(DEFAULT_HOLD_MS + 1)
    real, left = house.blobs.delete, [1]

    async def dying(key: str) -> None:
        if not left[0]:
            raise RuntimeError("dead")
        left[0] -= 1
        await real(key)

    monkeypatch.setattr(house.blobs, "delete", dying)
    with pytest.raises(RuntimeError):
        await house.sweep.prune()
    # The rows are gone, and the keys are written down.
    assert (await house.sweep.count()).count == 0
    assert len(await house.keys()) == 2
    # The same bytes come again meanwhile: what is deleted now is not what was just written.
    again = await house.assets.put(PLACE, b"c")
    monkeypatch.setattr(house.blobs, "delete", real)
    await house.sweep.prune()
    assert await house.keys() == {again.key}
    assert await house.assets.read(again) == b"c"


@pytest.mark.rule("media-80")
async def test_bytes_without_an_asset_go_once_no_writer_can_be_left() -> None:
    house = await AssetHarness().open()
    kept = await house.assets.put(PLACE, b"kept")
    await house.referring("run-0000000000000001", kept)
    sink = await house.blobs.sink(PLACE)
    await sink.write(b"stray")
    stray = await sink.commit()
    await house.sweep.sweep_all()
    assert stray.key in await house.keys()
    house.clock.advance(max(STRAY_AGE_MS, STRAY_SCAN_INTERVAL_MS) + 1)
    await house.sweep.sweep_all()
    assert await house.keys() == {kept.key}


async def test_the_same_bytes_are_kept_once() -> None:
    house = await AssetHarness().open()
    first, second = await house.assets.put(PLACE, b"x"), await house.assets.put(PLACE, b"x")
    assert first.key == second.key
    assert await house.keys() == {first.key}
    assert (await house.assets.put("other~live", b"x")).key != first.key


@pytest.mark.parametrize(
    ("limits", "cap", "code"),
    [(Limits(max_asset_bytes_per_tenant=5), None, "quota"), (Limits(), 5, "limit")],
    ids=["quota", "cap"],
)
async def test_too_many_bytes_are_refused_and_leave_nothing(limits: Limits, cap: int | None, code: str) -> None:
    house = await AssetHarness(limits).open()
    refused = await fault_of(house.assets.put(PLACE, pieces(b"abc", b"def"), cap=cap))
    assert refused.status == 413
    assert code in (refused.details or {})
    assert await house.keys() == set()
    assert (await house.store.assets.usage(PLACE)).count == 0
    await house.assets.put(PLACE, b"abcde", cap=cap)


async def test_bytes_that_were_lost_are_mended_by_sending_them_again() -> None:
    house = await AssetHarness().open()
    lost = await house.assets.put(PLACE, b"x")
    await house.blobs.delete(lost.key)
    with pytest.raises(BytesMissing):
        await house.assets.read(lost)
    found = await house.assets.put(PLACE, b"x")
    assert found.key != lost.key
    assert await house.assets.read(found) == b"x"
    assert present(await house.assets.find(PLACE, f"weftwork-asset:{lost.sha256}")).key == found.key


async def test_bytes_whose_row_may_be_missing_go_with_the_next_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    house = await AssetHarness().open()
    keep = house.store.assets.add

    async def lost(asset: StoredAsset, quota: int = 0) -> StoredAsset:
        raise StoreUnavailable("away")

    async def unheard(asset: StoredAsset, quota: int = 0) -> StoredAsset:
        await keep(asset, quota)
        raise StoreUnavailable("away")

    for failing, text in ((lost, b"lost"), (unheard, b"there")):
        monkeypatch.setattr(house.store.assets, "add", failing)
        with pytest.raises(StoreUnavailable):
            await house.assets.put(PLACE, text)
    assert len(await house.keys()) == 2
    await house.sweep.prune()
    (left,) = await house.keys()
    found = present(await house.assets.find(PLACE, f"weftwork-asset:{hashlib.sha256(b'there').hexdigest()}"))
    assert found.key == left


async def test_who_can_wait_writes_bytes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    house = await AssetHarness().open()
    keep, waits = house.store.assets.add, [3]

    async def away() -> None:
        waits[0] -= 1

    async def flaky(asset: StoredAsset, quota: int = 0) -> StoredAsset:
        if waits[0]:
            raise StoreUnavailable("away")
        return await keep(asset, quota)

    monkeypatch.setattr(house.store.assets, "add", flaky)
    asset = await house.assets.put(PLACE, b"x", away=away)
    assert await house.keys() == {asset.key}
    assert house.assets.unconfirmed_keys == []


async def pieces(*given: bytes) -> AsyncGenerator[bytes, None]:
    for piece in given:
        yield piece


async def opened(limits: Limits) -> tuple[AssetHarness, TenantAssets]:
    house = await AssetHarness(limits).open()
    await house.signer.load()
    return house, TenantAssets(house.assets, house.clock, limits)


async def test_what_was_uploaded_is_listed_and_found_by_its_url() -> None:
    house, service = await opened(Limits(max_asset_bytes_per_tenant=100))
    made = await service.upload(CALLER, pieces(b"he", b"llo"), "text/plain", "greeting.txt", 1)
    assert (made["bytes"], made["mimeType"], made["name"]) == (5, "text/plain", "greeting.txt")
    found = await service.find(made["url"].rpartition("/")[2])
    assert (found.media_type, found.name, found.max_age) == ("text/plain", "greeting.txt", assets.DAY_SECONDS)
    source = await service.open(found)
    assert b"".join([piece async for piece in source.read(0, source.size)]) == b"hello"
    await source.close()
    listed = await service.list(CALLER, None, None, 10)
    assert [each["mediaRef"] for each in listed["assets"]] == [made["mediaRef"]]
    assert listed["usage"] == {"assets": 1, "bytes": 5, "quota": 100, "quotaUsed": 5}
    await service.upload(TESTER, pieces(b"test"), "text/plain", "greeting.txt", 1)
    listed = await service.list(CALLER, None, None, 10)
    assert listed["usage"] == {"assets": 1, "bytes": 5, "quota": 100, "quotaUsed": 9}
    with pytest.raises(ClientFault) as fault:
        await service.upload(TESTER, pieces(b"x" * 92), "text/plain", "more.txt", 1)
    assert (fault.value.code, fault.value.details) == ("payload_too_large", {"quota": 100, "used": 9})
    house.clock.advance(assets.DAY_SECONDS * 1000 - 10_000)
    assert (await service.find(made["url"].rpartition("/")[2])).max_age == 10


@pytest.mark.rule("media-33")
async def test_an_upload_that_is_too_large_keeps_nothing() -> None:
    house, service = await opened(Limits(max_upload_bytes=4))
    service.check_upload_size(4)
    with pytest.raises(ClientFault, match="payload_too_large"):
        service.check_upload_size(5)
    with pytest.raises(ClientFault, match="payload_too_large"):
        await service.upload(CALLER, pieces(b"he", b"llo"), "", "", 1)
    assert await house.keys() == set()


async def test_a_tenant_has_so_many_uploads_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "MAX_CONCURRENT_UPLOADS", 1)
    _, service = await opened(Limits())
    started, release = anyio.Event(), anyio.Event()

    async def slow() -> AsyncGenerator[bytes, None]:
        started.set()
        await release.wait()
        yield b"late"

    async with anyio.create_task_group() as group:
        group.start_soon(service.upload, CALLER, slow(), "", "", 1)
        await started.wait()
        fault = await fault_of(service.upload(CALLER, pieces(b"more"), "", "", 1))
        assert (fault.code, fault.details) == ("rate_limited", {"retryAfter": 1})
        release.set()
    assert (await service.upload(CALLER, pieces(b"more"), "", "", 1))["bytes"] == 4
