"""Media that are named and not described: a mediaRef alone is shown as what the asset is."""

import hashlib
from typing import Any

import pytest

from tests.adapters.nodes.fake_context import TYPES
from tests.harness.definitions import node, variable, workflow
from weftwork.engine.models import message_media
from weftwork.ports.models import ModelMediaPart
from weftwork.protocol.media.message_parts import AssetInput, MediaInput, Modality
from weftwork.protocol.workflow.node_config import check_config
from weftwork.testing import Asset, FakeModel, FakeOutbound, run_workflow

PNG = b"\x89PNG\r\n\x1a\n" + b"picture"
OGG = b"OggS\x00" + b"\x00" * 40
FILM = b"\x00\x00\x00\x10ftypisom" + b"\x00" * 40
REF = "weftwork-asset:" + hashlib.sha256(PNG).hexdigest()
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
    "structuredOutput": {"outputSchema": {}},
    "generateEnvelope": {"envelopeType": "error", "userMessage": "?"},
}
ANSWERS = {"structuredOutput": "7", "generateEnvelope": '{"message": "No.", "code": "x"}'}


@pytest.mark.rule("media-50")
@pytest.mark.parametrize("kind", ["callPrompt", "chatCompletion", "structuredOutput", "generateEnvelope"])
@pytest.mark.parametrize(
    "given",
    [REF, [REF], {"mediaRef": REF}, [{"mediaRef": REF, "mimeType": ""}], {"type": "image", "mediaRef": REF}],
)
def test_a_reference_alone_is_shown_as_what_the_asset_is(kind: str, given: Any) -> None:
    listed = given if isinstance(given, list) else [given]
    configured = [{k: v for k, v in each.items() if v} if isinstance(each, dict) else each for each in listed]
    base = MORE.get(kind, {"prompt": "What is it?"})
    for document in (flow(kind, given, **base), flow(kind, media=configured, **base)):
        model = FakeModel([ANSWERS.get(kind, "A chair.")])
        result = run_workflow(document, inputs={"photo": Asset(PNG)}, model=model)
        assert result.status == "completed", result.error
        assert shown(model) == [("image", "image/png", REF)]


@pytest.mark.rule("media-50")
def test_a_template_in_the_config_names_an_asset() -> None:
    model = FakeModel(["ok"])
    media = ["{{variables.photo.mediaRef}}", {"mediaRef": "{{variables.more.mediaRef}}"}]
    inputs = {"photo": Asset(PNG), "more": Asset(b"some words")}
    assert run_workflow(flow(prompt="?", media=media), inputs=inputs, model=model).status == "completed"
    assert [each[:2] for each in shown(model)] == [("image", "image/png"), ("document", "text/plain")]


@pytest.mark.parametrize("media", [[{"url": URL}], [{"data": "AAAA"}], [{"type": "image", "data": "AAAA"}], [""]])
def test_a_config_that_lacks_its_media_type_is_not_registered(media: Any) -> None:
    (found,) = check_config(TYPES["core.ai.callPrompt"].declaration, {"prompt": "?", "media": media}, "")
    assert found.pointer == "/media/0"
    assert ("mimeType" in found.message) is (media != [""])


@pytest.mark.rule("media-45", "media-50")
@pytest.mark.parametrize(
    ("given", "takes", "code", "pointer"),
    [
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
    ],
)
def test_what_cannot_be_shown_fails_the_node(given: Any, takes: tuple[Modality, ...], code: str, pointer: str) -> None:
    model = FakeModel(["never"], modalities=takes)
    inputs = {"photo": Asset(PNG), "more": Asset(FILM)}
    error = run_workflow(flow(port=given), inputs=inputs, model=model, fetch=FakeOutbound({})).nodes["look"].error
    assert error is not None
    found = (error.code, (error.details or {}).get("pointer"), model.requests)
    assert found == (code, f"/messages/0/content/0{pointer}", [])


@pytest.mark.parametrize("given", [{"url": URL}, {"data": "AAAA"}, {"dataBase64": "AAAA", "type": "image"}])
def test_the_message_says_what_is_missing(given: Any) -> None:
    error = run_workflow(flow(port=given), model=FakeModel([])).nodes["look"].error
    assert error is not None
    assert "mimeType" in error.message
    assert URL not in error.message


@pytest.mark.rule("media-43")
def test_a_part_of_a_message_says_its_media_type() -> None:
    one = node("look", "core.ai.chatCompletion", inputs={"messages": {"type": "variable", "variableName": "photo"}})
    document = workflow([one], [], [variable("photo", "array"), variable("more", "object")])
    messages = [{"role": "user", "content": [{"type": "image", "mediaRef": REF}]}]
    error = (
        run_workflow(document, inputs={"photo": messages, "more": Asset(PNG)}, model=FakeModel([])).nodes["look"].error
    )
    assert error is not None
    assert (error.code, error.details) == ("node_config_invalid", {"pointer": "/messages/0/content/0/mimeType"})


@pytest.mark.rule("media-40")
def test_what_an_asset_is_counts_before_anything_is_fetched_or_missed() -> None:
    outbound = FakeOutbound({URL: PNG})
    model = FakeModel(["never"], modalities=("image",))
    given = [{"mimeType": "image/png", "url": URL}, NOBODYS, {"mediaRef": Asset(OGG).media_ref}]
    result = run_workflow(flow(port=given), inputs={"photo": Asset(OGG)}, model=model, fetch=outbound)
    error = result.nodes["look"].error
    assert error is not None
    assert (error.code, error.details) == ("unsupported_modality", {"pointer": "/messages/0/content/2"})
    assert (outbound.requests, model.requests) == ([], [])


def test_without_that_look_something_would_be_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def blind(self: Any, parsed: list[Any], offered: Any) -> Any:
        async def told() -> dict[str, MediaInput]:
            parts = [part for parts in parsed for part in parts if isinstance(part, AssetInput)]
            return {part.pointer: MediaInput("image", "image/png", "mediaRef", REF, part.pointer) for part in parts}

        return told()

    monkeypatch.setattr(message_media.MessageMedia, "_identify_assets", blind)  # sabotage
    with pytest.raises(AssertionError):
        test_what_an_asset_is_counts_before_anything_is_fetched_or_missed()
