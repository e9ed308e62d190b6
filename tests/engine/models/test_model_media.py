"""Media that models send: converted, checked, and never megabytes in the log."""

import threading
from base64 import b64encode
from typing import Any

import pytest

from tests.harness.cases import each_case, present
from tests.harness.engine_harness import CALLER
from tests.harness.media_host import (
    BIG,
    PNG,
    SMALL_LIMITS,
    envelope_node,
    fetch_asset,
    log_bytes,
    media_envelope,
    media_harness,
    model_node,
    outputs,
    run_to_end,
)
from tests.harness.scripted_model import ScriptedModel
from weftwork.engine.media import node_media
from weftwork.ports.models import AnswerEnd, GeneratedMedia
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.inline_media import MAX_ANSWER_INLINE_BYTES, find_inline_media
from weftwork.protocol.models.answers import TokenUsage


@pytest.mark.rule("media-84", "media-86")
@pytest.mark.parametrize("want", [None, "media.image"])
async def test_an_oversized_image_of_a_model_is_converted_and_never_logged(want: str | None) -> None:
    text = media_envelope(BIG) if want else f"Here it is:\n```json\n{media_envelope(BIG)}\n```\n"
    pieces = [text[at : at + 100] for at in range(0, len(text), 100)]
    bench = media_harness(model_node(want), limits=SMALL_LIMITS, models=ScriptedModel(pieces))
    key = await run_to_end(bench)
    assert await bench.status(key) == "completed"
    (event,) = await bench.payloads(key, "media.image")
    assert "base64" not in event
    assert (event["bytes"], event["mimeType"]) == (len(BIG), "image/png")
    assert await fetch_asset(bench, event["url"]) == BIG
    assert b64encode(BIG)[600:690] not in await log_bytes(bench, key)
    chunks = "".join([each["chunk"] for each in await bench.payloads(key, "output.chunk")])
    assert b64encode(BIG).decode()[600:700] not in chunks
    assert len(chunks) < 1_000


@pytest.mark.rule("media-84")
async def test_without_the_conversion_the_image_would_be_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_media, "find_inline_media", lambda text, cap: [])
    monkeypatch.setattr(node_media, "truncate_inline_media", lambda text, cap, everywhere: text)
    bench = media_harness(model_node("media.image"), limits=SMALL_LIMITS, models=ScriptedModel(media_envelope(BIG)))
    key = await run_to_end(bench)
    assert b64encode(BIG)[600:700] in await log_bytes(bench, key)


@pytest.mark.rule("media-86")
@pytest.mark.parametrize(("data", "inline"), [(PNG, True), (PNG + b"x", False)])
async def test_an_image_of_a_model_stays_inline_up_to_the_cap(data: bytes, inline: bool) -> None:
    bench = media_harness(model_node("media.image"), limits=SMALL_LIMITS, models=ScriptedModel(media_envelope(data)))
    key = await run_to_end(bench)
    (event,) = await bench.payloads(key, "media.image")
    assert ("base64" in event) is inline
    assert event["bytes"] == len(data)


@pytest.mark.rule("media-83")
@each_case(
    "payload",
    {"bytes": 1},
    {"bytes": 1, "url": "https://a.example/x.png", "base64": "AAAA"},
    {"bytes": 1, "url": "data:image/png;base64,AAAA"},
    {"bytes": 1, "url": "javascript:alert(1)"},
    {"bytes": 1, "base64": "not base64!"},
)
async def test_media_have_one_source_that_is_one(payload: dict[str, Any]) -> None:
    bench = media_harness(envelope_node({"type": "media.image", "schemaVersion": 1, "payload": payload}))
    key = await run_to_end(bench)
    (outcome,) = await outputs(bench, key)
    assert outcome["status"] == "invalid"
    assert outcome["details"][0]["instancePath"].startswith("/payload")
    assert "media.image" not in await bench.event_types(key)


@pytest.mark.rule("media-87")
async def test_an_asset_url_of_another_tenant_is_refused_and_others_are_not() -> None:
    bench = await media_harness().open()
    assets = present(bench.assets)
    theirs = await assets.put("other~live", PNG)
    ours = await assets.put(CALLER.partition, PNG)
    urls = {
        "theirs": assets.url(theirs, "image/png", "run-x"),
        "their host": assets.url(theirs, "image/png", "run-x").replace("flows.example", "127.0.0.1"),
        "sample": assets.url(theirs, "image/png", "run-x").replace("/weftwork/", "/sample/"),
        "query": assets.url(theirs, "image/png", "run-x").replace("flows.example", "localhost") + "?x=1",
        "loud": assets.url(ours, "image/png", "run-x").upper(),
        "forged": assets.url(ours, "image/png", "run-x")[:-1] + "x",
        "ours": assets.url(ours, "image/png", "run-x"),
        "elsewhere": "https://pictures.example/a.png",
    }
    documents = [
        {"type": "media.image", "schemaVersion": 1, "payload": {"bytes": 1, "url": url}} for url in urls.values()
    ]
    again = bench.successor(types=(envelope_node(*documents),), limits=Limits(envelopes_per_turn=32))
    key = await run_to_end(again)
    said = dict(zip(urls, [each["status"] for each in await outputs(again, key)], strict=True))
    assert said == {
        "theirs": "invalid",
        "their host": "invalid",
        "sample": "invalid",
        "query": "invalid",
        "loud": "invalid",
        "forged": "invalid",
        "ours": "accepted",
        "elsewhere": "accepted",
    }


async def test_what_a_model_makes_beside_its_text_is_shown_once() -> None:
    pieces = [
        "Look: ",
        GeneratedMedia("image", BIG, "image/png", "A dot."),
        "there.",
        AnswerEnd("stop", TokenUsage(1, 1)),
    ]
    bench = media_harness(model_node(None), models=ScriptedModel(pieces))  # type: ignore[arg-type]
    key = await run_to_end(bench)
    (event,) = await bench.payloads(key, "media.image")
    assert await fetch_asset(bench, event["url"]) == BIG
    assert event["alt"] == "A dot."
    assert (await bench.payload(key, "weftwork.model.answered"))["media"][0]["bytes"] == len(BIG)
    kinds = await bench.event_types(key)
    assert kinds.index("weftwork.model.answered") < kinds.index("media.image")


@pytest.mark.rule("media-84", "media-86")
@pytest.mark.parametrize("data", [PNG[:9], PNG, BIG], ids=["tiny", "small", "big"])
@pytest.mark.parametrize("want", [None, "media.image"])
async def test_where_nothing_may_be_inline_nothing_is(want: str | None, data: bytes) -> None:
    text = media_envelope(data) if want else f"Here:\n```json\n{media_envelope(data)}\n```\n"
    bench = media_harness(model_node(want), limits=Limits(max_inline_media_bytes=0), models=ScriptedModel(text))
    key = await run_to_end(bench)
    (event,) = await bench.payloads(key, "media.image")
    assert "base64" not in event
    assert await fetch_asset(bench, event["url"]) == data


@pytest.mark.rule("media-86")
@pytest.mark.parametrize(("size", "inline"), [(MAX_ANSWER_INLINE_BYTES, True), (MAX_ANSWER_INLINE_BYTES + 1, False)])
async def test_what_a_model_says_stays_inline_only_if_it_is_little(size: int, inline: bool) -> None:
    bench = media_harness(model_node("media.image"), models=ScriptedModel(media_envelope(PNG.ljust(size, b"p"))))
    key = await run_to_end(bench)
    assert ("base64" in await bench.payload(key, "media.image")) is inline


@pytest.mark.rule("media-84", "media-86")
@pytest.mark.parametrize(
    "text",
    [
        media_envelope(BIG).replace('"', "'"),
        media_envelope(BIG).replace("base64", "base\\u0036\\u0034"),
        media_envelope(BIG).replace('"base64": "', '"url": "data:image/png;base64,'),
        media_envelope(BIG).replace("/", "\\/"),
    ],
    ids=["quotes", "escaped name", "data URL", "slashes"],
)
async def test_however_a_model_writes_it_the_log_has_a_url(text: str) -> None:
    bench = media_harness(model_node("media.image"), limits=SMALL_LIMITS, models=ScriptedModel(text))
    key = await run_to_end(bench)
    (event,) = await bench.payloads(key, "media.image")
    assert await fetch_asset(bench, event["url"]) == BIG
    assert event.keys() == {"url", "bytes", "mimeType", "alt"}
    assert b64encode(BIG)[600:640] not in (await log_bytes(bench, key)).replace(b"\\", b"")


@pytest.mark.rule("media-84")
async def test_a_picture_in_a_text_is_an_asset_too() -> None:
    said = f"Look: ![dot](data:image/png;base64,{b64encode(BIG).decode()}) there."
    bench = media_harness(model_node(None), limits=SMALL_LIMITS, models=ScriptedModel(said))
    key = await run_to_end(bench)
    text = (await bench.payloads(key, "node.completed"))[0]["outputs"]["shown"]
    assert text.startswith("Look: ![dot](https://flows.example/v1/host/weftwork/assets/")
    assert await fetch_asset(bench, text[13 : text.index(")")]) == BIG
    assert b64encode(BIG)[600:700] not in await log_bytes(bench, key)


@pytest.mark.rule("media-87")
async def test_what_a_run_shows_does_not_expire() -> None:
    bench = await media_harness().open()
    assets = present(bench.assets)
    asset = await assets.put(CALLER.partition, PNG)
    url = assets.url(asset, "image/png", name="a.png", expires_at=bench.clock.now() + 1)
    sample = url.replace("/weftwork/", "/sample/")
    payloads = [{"bytes": 1, "url": each, "alt": "A"} for each in (url, sample)]
    documents = [{"type": "media.image", "schemaVersion": 1, "payload": each} for each in payloads]
    again = bench.successor(types=(envelope_node(*documents),))
    key = await run_to_end(again)
    bench.clock.advance(10**9)
    for event in await again.payloads(key, "media.image"):
        assert await fetch_asset(again, event["url"]) == PNG
        assert event["bytes"] == len(PNG)


@pytest.mark.parametrize(
    ("size", "aside"), [(node_media.THREAD_SCAN_CHARS, False), (node_media.THREAD_SCAN_CHARS + 1, True)]
)
async def test_a_long_answer_is_looked_through_while_others_go_on(
    monkeypatch: pytest.MonkeyPatch, size: int, aside: bool
) -> None:
    where: list[int] = []
    search = find_inline_media

    def inline_media(text: str, cap: int) -> list[Any]:
        where.append(threading.get_ident())
        return search(text, cap)

    bench = media_harness(model_node(None), models=ScriptedModel("Hello"))
    state = await bench.state(await run_to_end(bench))
    monkeypatch.setattr(node_media, "find_inline_media", inline_media)
    text = "x" * size
    assert await node_media.EntryMediaStore(bench.runtime, state, None).externalise(text, True) == text
    assert [each != threading.get_ident() for each in where] == [aside]
