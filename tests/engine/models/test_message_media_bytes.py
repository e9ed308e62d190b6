"""Where bytes for models come from: how many are taken, and what happens while their source is away."""

import asyncio
import hashlib
import threading
from typing import Any, cast

import pytest

from weftwork.engine.media.assets import BytesMissing
from weftwork.engine.models import message_media
from weftwork.engine.models.message_media import MessageMedia
from weftwork.engine.sdk.model_request import make_message
from weftwork.ports.models import ModelRequest
from weftwork.ports.node_outcome import StepFailed
from weftwork.ports.storage.assets import StoredAsset as KeptAsset
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.media.asset_references import media_ref
from weftwork.protocol.media.message_parts import MAX_TOTAL_BYTES, MODALITIES, parse_contents
from weftwork.testing import respond

PNG = b"\x89PNG\r\n\x1a\n" + b"picture"
ALL = frozenset(MODALITIES)
URL = "https://pictures.example.com/a.png"
IMAGE = {"type": "image", "mimeType": "image/png"}
SHA = hashlib.sha256(PNG).hexdigest()


async def looked(seen: MessageMedia, parts: list[Any]) -> ModelRequest:
    request = ModelRequest("", "", (make_message("user", parts),))
    return await seen.resolve(request, ALL)


@pytest.mark.rule("media-44")
async def test_fetched_bytes_are_counted_over_the_request() -> None:
    class EndlessOutbound:
        """Gives as much as it is asked for."""

        def __init__(self) -> None:
            self.wanted: list[int] = []

        async def fetch(self, request: Any) -> Any:
            self.wanted.append(request.max_bytes)
            return respond(200, content=bytes(request.max_bytes))

        async def close(self) -> None: ...

    outbound = EndlessOutbound()
    most = MAX_TOTAL_BYTES // 2 - 1
    seen = MessageMedia(None, outbound, "live:acme", most)
    with pytest.raises(message_media.StepFailed) as failed:
        await looked(seen, [{**IMAGE, "url": URL}] * 4)
    assert failed.value.failure.code == "media_too_large"
    assert outbound.wanted == [most, most, 2]


def test_a_host_without_a_way_out_or_assets_says_so() -> None:
    for part, code in (({**IMAGE, "url": URL}, "fetch_failed"), ({**IMAGE, "mediaRef": "x"}, "media_not_found")):
        with pytest.raises(message_media.StepFailed) as failed:
            asyncio.run(looked(MessageMedia(None, None, "live:acme", 10), [part]))
        assert failed.value.failure.code == code


class UnavailableAssets:
    """Assets whose store is away the first time, each time."""

    base = ""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def _once(self, call: str) -> None:
        self.calls.append(call)
        if self.calls.count(call) == 1:
            raise StoreUnavailable("away")

    async def find(self, partition: str, ref: object) -> KeptAsset:
        self._once("find")
        return KeptAsset(partition, SHA, "key", len(PNG), "image/png", 0, 0)

    async def hold(self, asset: KeptAsset) -> KeptAsset:
        self._once("hold")
        return asset

    async def read(self, asset: KeptAsset) -> bytes:
        self._once("read")
        return PNG


def test_a_store_that_is_away_is_waited_for_or_told() -> None:
    part = {**IMAGE, "mediaRef": "weftwork-asset:" + SHA}
    waited: list[int] = []

    async def away() -> None:
        waited.append(1)

    async def work() -> bytes:
        assets = UnavailableAssets()
        request = await looked(MessageMedia(cast("Any", assets), None, "live:acme", 100, away), [part])
        assert assets.calls == ["find", "find", "hold", "hold"]
        (seen,) = request.messages[0].media
        return await seen.read()

    assert asyncio.run(work()) == PNG
    assert len(waited) == 3
    with pytest.raises(StoreUnavailable):
        asyncio.run(looked(MessageMedia(cast("Any", UnavailableAssets()), None, "live:acme", 100), [part]))


@pytest.mark.parametrize(
    ("size", "aside"), [(message_media.THREAD_PARSE_CHARS, False), (message_media.THREAD_PARSE_CHARS + 8, True)]
)
async def test_megabytes_are_read_while_others_go_on(monkeypatch: pytest.MonkeyPatch, size: int, aside: bool) -> None:
    where: list[int] = []
    parse = parse_contents

    def parsed(*given: Any) -> Any:
        where.append(threading.get_ident())
        return parse(*given)

    monkeypatch.setattr(message_media, "parse_contents", parsed)
    parts = [{**IMAGE, "data": "A" * (size // 2)}, {**IMAGE, "dataBase64": "A" * (size - size // 2)}]
    (message,) = (await looked(MessageMedia(None, None, "live:acme", MAX_TOTAL_BYTES), parts)).messages
    assert [part.size for part in message.media] == [size // 2 // 4 * 3, (size - size // 2) // 4 * 3]
    assert [each != threading.get_ident() for each in where] == [aside]


@pytest.mark.rule("media-46")
def test_an_asset_counts_for_the_whole_request_and_lost_bytes_are_told() -> None:
    class LostBytesAssets(UnavailableAssets):
        def _once(self, call: str) -> None:
            if call == "read":
                raise BytesMissing("lost")

        async def find(self, partition: str, ref: object) -> KeptAsset:
            return KeptAsset(partition, SHA, "key", MAX_TOTAL_BYTES // 2, "image/png", 0, 0)

    part = {"type": "image", "mimeType": "image/png", "mediaRef": media_ref(SHA)}
    seen = MessageMedia(cast("Any", LostBytesAssets()), None, "live:acme", MAX_TOTAL_BYTES)

    async def work(count: int) -> Any:
        return (await looked(seen, [part] * count)).messages[0].media[0]

    with pytest.raises(StepFailed) as refused:
        asyncio.run(work(3))
    assert (refused.value.failure.code, refused.value.failure.details) == (
        "media_too_large",
        {"pointer": "/messages/0/content/2", "limit": MAX_TOTAL_BYTES},
    )
    with pytest.raises(StepFailed) as lost:
        asyncio.run(asyncio.run(work(2)).read())
    assert lost.value.failure.code == "media_not_found"
