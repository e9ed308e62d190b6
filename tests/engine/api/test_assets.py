"""Assets for callers, on a store without edges."""

from collections.abc import AsyncGenerator

import anyio
import pytest

from tests.engine.media.test_asset_sweep import AssetHarness
from tests.harness.engine_harness import CALLER
from weftwork.engine.api import assets
from weftwork.engine.api.assets import TenantAssets
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.limits import Limits


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
    assert listed["usage"] == {"assets": 1, "bytes": 5, "quota": 100}
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
        with pytest.raises(ClientFault) as caught:
            await service.upload(CALLER, pieces(b"more"), "", "", 1)
        assert (caught.value.code, caught.value.details) == ("rate_limited", {"retryAfter": 1})
        release.set()
    assert (await service.upload(CALLER, pieces(b"more"), "", "", 1))["bytes"] == 4
