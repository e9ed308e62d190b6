"""Media that nodes show: kept as assets, told by events, and by a URL unless somebody asks otherwise."""

from typing import Any

import pytest

from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import CALLER, run_ready_tasks
from tests.harness.media_host import (
    ONE_NODE_WORKFLOW,
    PNG,
    SMALL_LIMITS,
    emit_media_node,
    fetch_asset,
    media_harness,
    outputs,
    run_to_end,
)
from weftwork.engine.run import append
from weftwork.ports.media import OutgoingMedia
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.protocol.media.asset_references import media_ref
from weftwork.protocol.workflow.node_types import NodeDeclaration


@pytest.mark.rule("media-85", "media-88")
async def test_media_are_shown_by_a_url_that_opens_them() -> None:
    bench = media_harness(emit_media_node(OutgoingMedia("image", PNG, "image/png", "A dot.", "Dot")))
    key = await run_to_end(bench)
    (shown,) = await outputs(bench, key)
    (event,) = await bench.payloads(key, "media.image")
    assert event == shown["payload"]
    assert {name: event[name] for name in ("bytes", "mimeType", "alt")} == {
        "bytes": len(PNG),
        "mimeType": "image/png",
        "alt": "A dot.",
    }
    assert event["url"].startswith("https://flows.example/v1/host/weftwork/assets/v1.")
    assert await fetch_asset(bench, event["url"]) == PNG
    (record,) = await bench.payloads(key, "weftwork.envelope.recorded")
    assert record["rendering"] == {"display": "image", "mimeType": "image/png", "alt": "A dot.", "title": "Dot"}
    assert record["payload"] == event
    cause = [each.causation_id for each in await bench.events(key) if each.type == "media.image"]
    assert cause == [record["correlationId"]]
    assert await bench.payloads(key, "log.appended") == []


@pytest.mark.rule("media-88")
async def test_media_without_a_description_are_shown_with_a_warning() -> None:
    bench = media_harness(emit_media_node(OutgoingMedia("audio", b"ID3\x04" + b"\0" * 20, duration_seconds=1.5)))
    key = await run_to_end(bench)
    (event,) = await bench.payloads(key, "media.audio")
    assert event["durationSeconds"] == 1.5
    (warned,) = await bench.payloads(key, "log.appended")
    assert (warned["level"], warned["fields"]["type"]) == ("warn", "media.audio")


@pytest.mark.rule("media-85")
@pytest.mark.parametrize(("size", "inline"), [(-1, True), (0, True), (1, False)])
async def test_bytes_stand_in_the_event_only_up_to_the_cap(size: int, inline: bool) -> None:
    data = PNG[: len(PNG) + size] if size < 0 else PNG + b"x" * size

    bench = media_harness(emit_media_node(OutgoingMedia("image", data, alt="A", inline=True)), limits=SMALL_LIMITS)
    key = await run_to_end(bench)
    (event,) = await bench.payloads(key, "media.image")
    assert ("base64" in event) is inline
    assert ("url" in event) is not inline
    (shown,) = await outputs(bench, key)
    assert bench.assets is not None
    asset = await bench.assets.find(CALLER.partition, shown["media_ref"])
    # Inline ones are kept as well, so that a bundle can name them.
    assert asset is not None
    assert await bench.assets.read(asset) == data
    found = await bench.store.assets.find(CALLER.partition, asset.sha256)
    assert found is not None
    assert found.runs == 1


@pytest.mark.rule("media-85")
async def test_what_only_looks_like_an_image_is_no_image() -> None:
    bench = media_harness(emit_media_node(OutgoingMedia("image", b"<html><script>1</script>", "image/png", "A")))
    (event,) = await bench.payloads(await run_to_end(bench), "media.image")
    assert event["mimeType"] == "application/octet-stream"


@pytest.mark.rule("media-04")
async def test_an_asset_of_somebody_else_is_like_none() -> None:
    async def answer(partition: str | None) -> Any:
        ref = media_ref("0" * 64)
        bench = media_harness()
        await bench.open()
        if partition is not None:
            assert bench.assets is not None
            ref = media_ref((await bench.assets.put(partition, PNG)).sha256)
        again = bench.successor(types=(emit_media_node(OutgoingMedia("image", ref, alt="A")),))
        key = await run_to_end(again)
        if await again.status(key) == "completed":
            return "shown"
        return (await again.payloads(key, "node.failed"))[0]["error"]

    missing, foreign = await answer(None), await answer("other~live")
    assert missing == foreign
    assert missing["code"] == "media_not_found"
    assert await answer(CALLER.partition) == "shown"


async def test_what_was_shown_is_not_shown_again_when_the_node_is_entered_again() -> None:
    sent = OutgoingMedia("image", PNG, alt="A"), OutgoingMedia("image", PNG + b"2", alt="B")

    bench = media_harness(emit_media_node(*sent, asks=True))
    key = await bench.start(ONE_NODE_WORKFLOW)
    await run_ready_tasks()
    before = await bench.event_types(key)
    assert "interrupt.requested" in before
    await bench.answer(key, {"ok": True}, "a")
    await bench.run_to_end(key)
    after = await bench.event_types(key)
    assert before.count("media.image") == after.count("media.image") == 2
    assert [each["payload"]["alt"] for each in await outputs(bench, key)] == ["A", "B"]


@pytest.mark.rule("media-02")
async def test_a_run_refers_to_the_assets_that_its_inputs_and_events_name(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = media_harness()
    await bench.open()
    assert bench.assets is not None
    given = await bench.assets.put(CALLER.partition, b"given")
    unused = await bench.assets.put(CALLER.partition, b"unused")
    again = bench.successor(types=(emit_media_node(OutgoingMedia("image", PNG, alt="A")),))
    key = await again.start(ONE_NODE_WORKFLOW, inputs={"photo": {"mediaRef": media_ref(given.sha256)}})
    await again.run_to_end(key)
    page = await bench.store.assets.find(CALLER.partition, given.sha256)
    assert page is not None
    assert page.runs == 1
    other = await bench.store.assets.find(CALLER.partition, unused.sha256)
    assert other is not None
    assert other.runs == 0
    # Without looking at what is committed, nothing would hold what the node has shown.
    monkeypatch.setattr(append, "referenced_assets", lambda *given, **more: frozenset())
    last = bench.successor(types=(emit_media_node(OutgoingMedia("image", PNG + b"3", alt="A")),))
    key = await run_to_end(last)
    (event,) = await last.payloads(key, "media.image")
    with pytest.raises(Exception, match="There is no such asset"):
        await fetch_asset(last, event["url"])


@pytest.mark.rule("media-02")
async def test_what_stands_in_no_event_is_named_as_well() -> None:
    bench = media_harness()
    await bench.open()
    assert bench.assets is not None
    made = [await bench.assets.put(CALLER.partition, text) for text in (b"default", b"metadata", b"configurable")]
    refs = [media_ref(each.sha256) for each in made]
    variable = {"name": "logo", "type": "string", "defaultValue": refs[0]}
    document = workflow([node("a", "core.noop")], variables=[variable])
    request = {"metadata": {"m": refs[1]}, "configurable": {"promptOverrides": {"p": refs[2]}}}
    key = await bench.start(document, **request)
    await bench.run_to_end(key)
    for asset in made:
        found = await bench.store.assets.find(CALLER.partition, asset.sha256)
        assert found is not None
        assert found.runs == 1, asset


@pytest.mark.rule("media-89")
async def test_what_a_node_has_read_stays_as_long_as_its_log() -> None:
    refs: list[str] = []

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        content = await context.read_media(refs[0], 1_000)
        return Completed({"shown": content.data.decode()})

    reading = WaitingNode(NodeDeclaration("test.show", "For one test.", effect="idempotent", instant=False), body)

    bench = media_harness()
    await bench.open()
    assert bench.assets is not None
    asset = await bench.assets.put(CALLER.partition, b"text")
    again = bench.successor(types=(reading,))
    refs.append(media_ref(asset.sha256))
    key = await run_to_end(again)
    assert await outputs(again, key) == "text"
    (told,) = await again.payloads(key, "weftwork.content.outside")
    assert told["mediaRef"] == media_ref(asset.sha256)
    found = await bench.store.assets.find(CALLER.partition, asset.sha256)
    assert found is not None
    assert found.runs == 1
    # Bytes that are lost do not come by waiting.
    assert again.blobs is not None
    await again.blobs.delete(asset.key)
    last = again.successor(types=(reading,))
    (failed,) = await last.payloads(await run_to_end(last), "node.failed")
    assert failed["error"]["code"] == "media_not_found"


async def test_media_that_are_not_what_they_are_said_to_be_are_warned_of() -> None:
    bench = media_harness(emit_media_node(OutgoingMedia("image", b"\xff\xd8\xff\xe0JFIF", "image/png", "A")))
    key = await run_to_end(bench)
    (warned,) = await bench.payloads(key, "log.appended")
    assert warned["level"] == "warn"
    assert "look like" in warned["message"]
