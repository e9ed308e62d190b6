"""Media that nodes show: kept as assets, told by events and URLs, named by a reference, and free of secrets."""

import hashlib
import re
from base64 import urlsafe_b64decode
from typing import Any

import msgspec
import pytest

from tests.adapters.nodes.fake_context import TYPES
from tests.engine.api.test_review import whole
from tests.engine.privacy.test_sensitive_values import everything_shown
from tests.harness.cases import each_case, fails_without, present
from tests.harness.definitions import node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, run_ready_tasks
from tests.harness.media_host import (
    ONE_NODE_WORKFLOW,
    PNG,
    SMALL_LIMITS,
    emit_media_node,
    fetch_asset,
    media_envelope,
    media_harness,
    model_node,
    outputs,
    run_to_end,
)
from tests.harness.scripted_model import ScriptedModel
from weftwork.engine.media.node_media import EntryMediaStore
from weftwork.engine.models import message_media
from weftwork.engine.run import append
from weftwork.ports.media import OutgoingMedia
from weftwork.ports.models import AnswerEnd, GeneratedMedia, ModelMarkerPart, ModelMediaPart, ModelTextPart
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.ports.storage.assets import AssetQuery
from weftwork.protocol.media.asset_headers import MAX_NAME
from weftwork.protocol.media.asset_references import find_asset_tokens, media_ref
from weftwork.protocol.media.message_parts import MAX_ALT, AssetInput, MediaInput, Modality
from weftwork.protocol.models.answers import TokenUsage
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.workflow.node_config import check_config
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.testing import Asset, FakeModel, FakeOutbound, run_workflow


@pytest.mark.rule("media-85", "media-88")
async def test_media_are_shown_by_a_url_that_opens_them() -> None:
    bench = media_harness(emit_media_node(OutgoingMedia("image", PNG, "image/png", "A dot.", "Dot")))
    key = await run_to_end(bench)
    (shown,) = await outputs(bench, key)
    (event,) = await bench.payloads(key, "media.image")
    assert event == shown["payload"]
    assert event.items() >= {"bytes": len(PNG), "mimeType": "image/png", "alt": "A dot."}.items()
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
    assert (await bench.payload(key, "media.audio"))["durationSeconds"] == 1.5
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
    asset = present(await bench.assets.find(CALLER.partition, shown["media_ref"]))
    assert await bench.assets.read(asset) == data
    assert present(await bench.store.assets.find(CALLER.partition, asset.sha256)).runs == 1


@pytest.mark.rule("media-85")
async def test_what_only_looks_like_an_image_is_no_image() -> None:
    bench = media_harness(emit_media_node(OutgoingMedia("image", b"<html><script>1</script>", "image/png", "A")))
    assert (await bench.payload(await run_to_end(bench), "media.image"))["mimeType"] == "application/octet-stream"


@pytest.mark.rule("media-04")
async def test_an_asset_of_somebody_else_is_like_none() -> None:
    async def answer(partition: str | None) -> Any:
        ref = media_ref("0" * 64)
        bench = await media_harness().open()
        if partition is not None:
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
    bench = await media_harness().open()
    given = await bench.assets.put(CALLER.partition, b"given")
    unused = await bench.assets.put(CALLER.partition, b"unused")
    again = bench.successor(types=(emit_media_node(OutgoingMedia("image", PNG, alt="A")),))
    key = await again.execute(ONE_NODE_WORKFLOW, inputs={"photo": {"mediaRef": media_ref(given.sha256)}})
    assert present(await bench.store.assets.find(CALLER.partition, given.sha256)).runs == 1
    assert present(await bench.store.assets.find(CALLER.partition, unused.sha256)).runs == 0
    # Without looking at what is committed, nothing would hold what the node has shown.
    monkeypatch.setattr(append, "referenced_assets", lambda *given, **more: frozenset())
    last = bench.successor(types=(emit_media_node(OutgoingMedia("image", PNG + b"3", alt="A")),))
    key = await run_to_end(last)
    (event,) = await last.payloads(key, "media.image")
    with pytest.raises(Exception, match="There is no such asset"):
        await fetch_asset(last, event["url"])


@pytest.mark.rule("media-02")
async def test_what_stands_in_no_event_is_named_as_well() -> None:
    bench = await media_harness().open()
    made = [await bench.assets.put(CALLER.partition, text) for text in (b"default", b"metadata", b"configurable")]
    refs = [media_ref(each.sha256) for each in made]
    variable = {"name": "logo", "type": "string", "defaultValue": refs[0]}
    document = workflow([node("a", "core.noop")], variables=[variable])
    request = {"metadata": {"m": refs[1]}, "configurable": {"promptOverrides": {"p": refs[2]}}}
    await bench.execute(document, **request)
    for asset in made:
        assert present(await bench.store.assets.find(CALLER.partition, asset.sha256)).runs == 1, asset


@pytest.mark.rule("media-89")
async def test_what_a_node_has_read_stays_as_long_as_its_log() -> None:
    refs: list[str] = []

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        content = await context.read_media(refs[0], 1_000)
        return Completed({"shown": content.data.decode()})

    reading = WaitingNode(NodeDeclaration("test.show", "For one test.", effect="idempotent", instant=False), body)
    bench = await media_harness().open()
    asset = await bench.assets.put(CALLER.partition, b"text")
    again = bench.successor(types=(reading,))
    refs.append(media_ref(asset.sha256))
    key = await run_to_end(again)
    assert await outputs(again, key) == "text"
    assert (await again.payload(key, "weftwork.content.outside"))["mediaRef"] == media_ref(asset.sha256)
    assert present(await bench.store.assets.find(CALLER.partition, asset.sha256)).runs == 1
    # Bytes that are lost do not come by waiting.
    assert again.blobs is not None
    await again.blobs.delete(asset.key)
    last = again.successor(types=(reading,))
    assert (await last.payload(await run_to_end(last), "node.failed"))["error"]["code"] == "media_not_found"


async def test_media_that_are_not_what_they_are_said_to_be_are_warned_of() -> None:
    bench = media_harness(emit_media_node(OutgoingMedia("image", b"\xff\xd8\xff\xe0JFIF", "image/png", "A")))
    key = await run_to_end(bench)
    (warned,) = await bench.payloads(key, "log.appended")
    assert warned["level"] == "warn"
    assert "do not match their declared type" in warned["message"]


PICTURE = b"\x89PNG\r\n\x1a\n" + b"picture"
OGG = b"OggS\x00" + b"\x00" * 40
FILM = b"\x00\x00\x00\x10ftypisom" + b"\x00" * 40
REF = "weftwork-asset:" + hashlib.sha256(PICTURE).hexdigest()
NOBODYS = "weftwork-asset:" + "0" * 64
URL = "https://pictures.example.com/a.png"


def flow(kind: str = "callPrompt", port: Any = None, **config: Any) -> dict[str, Any]:
    inputs = {} if port is None else {"media": {"type": "static", "value": port}}
    one = node("look", f"core.ai.{kind}", config=config, inputs=inputs)
    return workflow([one], [], [variable("photo", "object"), variable("more", "object")])


def shown(model: FakeModel) -> list[tuple[str, str, str | None]]:
    parts: list[ModelMediaPart] = [part for message in model.requests[0].messages for part in message.media]
    return [(part.modality, part.media_type, part.media_ref) for part in parts]


MORE: dict[str, dict[str, Any]] = {
    "structuredOutput": {"prompt": "What is it?", "outputSchema": {}},
    "generateEnvelope": {"envelopeType": "error", "userMessage": "?"},
}
ANSWERS = {"structuredOutput": "7", "generateEnvelope": '{"message": "No.", "code": "x"}'}


@pytest.mark.rule("media-50")
@pytest.mark.parametrize("kind", ["callPrompt", "chatCompletion", "structuredOutput", "generateEnvelope"])
@each_case(
    "given", REF, [REF], {"mediaRef": REF}, [{"mediaRef": REF, "mimeType": ""}], {"type": "image", "mediaRef": REF}
)
def test_a_reference_alone_is_shown_as_what_the_asset_is(kind: str, given: Any) -> None:
    listed = given if isinstance(given, list) else [given]
    configured = [{k: v for k, v in each.items() if v} if isinstance(each, dict) else each for each in listed]
    base = MORE.get(kind, {"prompt": "What is it?"})
    from_input = flow(kind, **base)
    from_input["nodes"][0]["inputs"] = {"media": {"type": "variable", "variableName": "photo"}}
    for document in (from_input, flow(kind, given, **base), flow(kind, media=configured, **base)):
        model = FakeModel([ANSWERS.get(kind, "A chair.")])
        result = run_workflow(document, inputs={"photo": Asset(PICTURE)}, model=model)
        assert result.status == "completed", result.error
        assert shown(model) == [("image", "image/png", REF)]
        (message,) = model.requests[0].messages
        assert message.text in ("What is it?", "?")
        types = [ModelTextPart, ModelMarkerPart, ModelMediaPart, ModelMarkerPart]
        assert [type(each) for each in message.content] == types
        assert [(part.size, part.sha256) for part in message.media] == [(len(PICTURE), REF.partition(":")[2])]


@pytest.mark.rule("media-50")
def test_a_template_in_the_config_names_an_asset() -> None:
    model = FakeModel(["ok"])
    media = ["{{variables.photo.mediaRef}}", {"mediaRef": "{{variables.more.mediaRef}}"}]
    inputs = {"photo": Asset(PICTURE), "more": Asset(b"some words")}
    assert run_workflow(flow(prompt="?", media=media), inputs=inputs, model=model).status == "completed"
    assert [each[:2] for each in shown(model)] == [("image", "image/png"), ("document", "text/plain")]


@pytest.mark.parametrize("media", [[{"url": URL}], [{"data": "AAAA"}], [{"type": "image", "data": "AAAA"}], [""]])
def test_a_config_that_lacks_its_media_type_is_not_registered(media: Any) -> None:
    (found,) = check_config(TYPES["core.ai.callPrompt"].declaration, {"prompt": "?", "media": media}, "")
    assert found.pointer == "/media/0"
    assert ("mimeType" in found.message) is (media != [""])


@pytest.mark.rule("media-45", "media-50")
@each_case(
    "given, takes, code, pointer",
    (REF, (), "unsupported_modality", ""),
    (REF, ("audio", "document"), "unsupported_modality", ""),
    (Asset(FILM).media_ref, ("image", "audio", "document"), "unsupported_modality", ""),
    ({"mediaRef": REF, "mimeType": "video/mp4"}, ("image", "audio", "document"), "unsupported_modality", "/type"),
    ({"type": "audio", "mediaRef": REF}, ("image",), "unsupported_modality", "/type"),
    ({"type": "audio", "mediaRef": REF}, ("image", "audio"), "node_config_invalid", ""),
    ({"type": "video", "mediaRef": REF}, ("image",), "unsupported_modality", "/type"),
    (NOBODYS, ("image",), "media_not_found", ""),
    ({"mediaRef": NOBODYS}, ("image",), "media_not_found", ""),
    ("weftwork-asset:x", ("image",), "node_config_invalid", ""),
    (URL, ("image",), "node_config_invalid", ""),
    ({"mediaRef": ""}, ("image",), "node_config_invalid", "/mediaRef"),
    ({"mediaRef": 7}, ("image",), "node_config_invalid", "/mediaRef"),
    ({"url": URL}, ("image",), "node_config_invalid", "/mimeType"),
    ({"data": "AAAA"}, ("image",), "node_config_invalid", "/mimeType"),
    ({"type": "image", "mediaRef": REF, "data": "AAAA"}, ("image",), "node_config_invalid", "/mimeType"),
    ({"alt": "nothing"}, ("image",), "node_config_invalid", ""),
    (7, ("image",), "node_config_invalid", ""),
)
def test_what_cannot_be_shown_fails_the_node(given: Any, takes: tuple[Modality, ...], code: str, pointer: str) -> None:
    model = FakeModel(["never"], modalities=takes)
    inputs = {"photo": Asset(PICTURE), "more": Asset(FILM)}
    result = run_workflow(flow(port=given), inputs=inputs, model=model, fetch=FakeOutbound({}))
    error = present(result.nodes["look"].error)
    found = (error.code, (error.details or {}).get("pointer"), model.requests)
    assert found == (code, f"/messages/0/content/0{pointer}", [])


@pytest.mark.parametrize("given", [{"url": URL}, {"data": "AAAA"}, {"dataBase64": "AAAA", "type": "image"}])
def test_the_message_says_what_is_missing(given: Any) -> None:
    error = present(run_workflow(flow(port=given), model=FakeModel([])).nodes["look"].error)
    assert "mimeType" in error.message
    assert URL not in error.message


@pytest.mark.rule("media-43")
def test_a_part_of_a_message_says_its_media_type() -> None:
    one = node("look", "core.ai.chatCompletion", inputs={"messages": {"type": "variable", "variableName": "photo"}})
    document = workflow([one], [], [variable("photo", "array"), variable("more", "object")])
    messages = [{"role": "user", "content": [{"type": "image", "mediaRef": REF}]}]
    result = run_workflow(document, inputs={"photo": messages, "more": Asset(PICTURE)}, model=FakeModel([]))
    error = present(result.nodes["look"].error)
    assert (error.code, error.details) == ("node_config_invalid", {"pointer": "/messages/0/content/0/mimeType"})


async def taken_for_images(self: Any, parsed: list[Any], offered: Any) -> dict[str, MediaInput]:
    parts = [part for parts in parsed for part in parts if isinstance(part, AssetInput)]
    return {part.pointer: MediaInput("image", "image/png", "mediaRef", REF, part.pointer) for part in parts}


@pytest.mark.rule("media-40")
@fails_without(message_media.MessageMedia, "_identify_assets", taken_for_images)
def test_what_an_asset_is_counts_before_anything_is_fetched_or_missed() -> None:
    outbound = FakeOutbound({URL: PICTURE})
    model = FakeModel(["never"], modalities=("image",))
    given = [{"mimeType": "image/png", "url": URL}, NOBODYS, {"mediaRef": Asset(OGG).media_ref}]
    result = run_workflow(flow(port=given), inputs={"photo": Asset(OGG)}, model=model, fetch=outbound)
    error = present(result.nodes["look"].error)
    assert (error.code, error.details) == ("unsupported_modality", {"pointer": "/messages/0/content/2"})
    assert (outbound.requests, model.requests) == ([], [])


CANARY = "canary.of+this-run-7f3a9c"
PART = 10
"""Characters of it that tell too much; what begins a text and is cut off is told by its end."""
UNSEEN = "\u200b"
HIDDEN = workflow([node("a", "test.show")], [], [variable("secret", sensitive=True)])
SPLIT = CANARY[:6] + UNSEEN + CANARY[6:]


def cuts(most: int, text: str = CANARY) -> list[str]:
    """Texts in which the secret stands across every place of a cut."""
    return ["x" * (most - at) + text + "y" * 300 for at in range(len(text) + 1)]


def ends(most: int) -> list[str]:
    """The same for a cut that leaves the end."""
    return [("y" * 300 + CANARY + "x" * (most - at))[-most - len(CANARY) :] for at in range(len(CANARY) + 1)]


SENT = {
    "alt": [OutgoingMedia("image", PNG, alt=f"See {CANARY}!")],
    "title": [OutgoingMedia("image", PNG, alt="A", title=f"See {CANARY}!")],
    "name": [OutgoingMedia(kind, PNG, alt="A", name=f"{CANARY}.png") for kind in ("image", "audio", "file")],
    "name, unseen": [OutgoingMedia(kind, PNG, alt="A", name=f"x{SPLIT}.png") for kind in ("image", "file")],
    "media type": [OutgoingMedia("file", b"words", f"text/{CANARY}", alt="A")],
    "media type, inline": [OutgoingMedia("file", b"words", f"text/{CANARY}", alt="A", inline=True)],
    "alt, cut": [OutgoingMedia("image", PNG, alt=each) for each in cuts(MAX_ALT)],
    "title, cut": [OutgoingMedia("image", PNG, alt="A", title=each) for each in cuts(MAX_ALT)],
    "name, cut": [OutgoingMedia("file", PNG, alt="A", name=each) for each in cuts(MAX_NAME)],
    "name with an ending, cut": [
        OutgoingMedia("file", PNG, alt="A", name=f"{each}.png") for each in cuts(MAX_NAME - 4)
    ],
    "name, cut before": [OutgoingMedia("file", PNG, alt="A", name=each) for each in ends(4 * MAX_NAME)],
    "name, unseen and cut": [OutgoingMedia("file", PNG, alt="A", name=each) for each in cuts(MAX_NAME, SPLIT)],
}


async def told(bench: EngineHarness, key: RunKey) -> str:
    """All that anybody gets to read of the run, and what is inside of every token in it."""
    shown = [await everything_shown(bench, key)]
    shown.append(msgspec.json.encode((await whole(bench, key))[0]).decode())
    shown.append(repr(await bench.assets.page(CALLER.partition, AssetQuery())))
    tokens = {token for text in shown for token in find_asset_tokens(text)}
    assert tokens
    for token in tokens:
        inside = token.split(".")[2]
        shown.append(urlsafe_b64decode(inside + "=" * (-len(inside) % 4)).decode(errors="replace"))
    return "\n".join(shown)


def leaks(text: str) -> list[str]:
    """Stretches of the secret that stand in the text."""
    parts = [CANARY[at : at + PART] for at in range(len(CANARY) - PART + 1)]
    return [part for part in parts if re.search(re.escape(part), text)]


async def of_nodes(sent: list[OutgoingMedia]) -> str:
    bench = media_harness(emit_media_node(*sent))
    key = await bench.execute(HIDDEN, inputs={"secret": CANARY})
    assert await bench.status(key) == "completed"
    return await told(bench, key)


async def of_models(answer: Any, want: str | None = None) -> str:
    bench = media_harness(model_node(want), models=ScriptedModel(answer))
    key = await bench.execute(HIDDEN, inputs={"secret": CANARY})
    assert await bench.status(key) == "completed"
    return await told(bench, key)


@pytest.mark.rule("hide-03")
@pytest.mark.parametrize("place", SENT)
async def test_what_a_node_says_of_media_holds_no_secret(place: str) -> None:
    assert leaks(await of_nodes(SENT[place])) == []


MADE: dict[str, dict[str, Any]] = {
    "alt": {"alt": f"See {CANARY}!"},
    "alt, cut": {"alt": "x" * (MAX_ALT - 12) + CANARY},
    "name": {"name": f"{CANARY}.txt"},
    "name, unseen": {"name": f"{SPLIT}.txt"},
    "name, cut": {"name": "x" * (MAX_NAME - 12) + CANARY},
    "media type": {"media_type": f"text/{CANARY}"},
}


@pytest.mark.rule("hide-03")
@pytest.mark.parametrize("place", MADE)
async def test_what_a_model_has_made_holds_no_secret(place: str) -> None:
    made = [GeneratedMedia(kind, b"words", **{"alt": "A", **MADE[place]}) for kind in ("image", "file")]
    assert leaks(await of_models([*made, "There.", AnswerEnd("stop", TokenUsage(1, 1))])) == []


@pytest.mark.rule("hide-03")
@pytest.mark.parametrize("member", ["alt", "name", "mimeType"])
async def test_what_a_model_sends_holds_no_secret(member: str) -> None:
    said = {"alt": f"See {CANARY}", "name": f"{CANARY}.txt", "mimeType": f"text/{CANARY}"}[member]
    document = media_envelope(b"word " * 4_000, **{member: said}).replace("media.image", "media.file")
    assert leaks(await of_models(document, "media.file")) == []


@pytest.mark.parametrize(
    "place", ["name", "name, unseen", "media type", "alt, cut", "name, cut", "name, unseen and cut"]
)
async def test_without_the_mask_it_would_stand_there(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(self: EntryMediaStore, text: str, most: int = MAX_ALT) -> str:
        return text[:most]

    monkeypatch.setattr(EntryMediaStore, "_masked", cut)  # sabotage
    assert leaks(await of_nodes(SENT[place])) != []
