"""Media that nodes in Python are given by name alone, and the least that they may show."""

import dataclasses
import tempfile
from pathlib import Path
from typing import Any, TypedDict

import pytest

import weftwork
from tests.adapters.python.calls.media_nodes import PNG, media_error
from weftwork.adapters.python.declaration import signature
from weftwork.adapters.python.declaration import signature as media_port
from weftwork.adapters.python.values import as_json
from weftwork.protocol.media.asset_references import media_ref
from weftwork.testing import Asset, FakeModel, run_node

NOBODYS = media_ref("ab" * 32)
PHOTO = Asset(PNG)


def told(annotation: Any, value: Any) -> Any:
    """What a node gets on a port of this annotation, beside an upload of the photo."""
    got: list[Any] = []

    async def takes(ctx: weftwork.Context, photo: Any, upload: Any) -> None:
        got.append(photo)

    takes.__annotations__["photo"] = annotation
    result = run_node(weftwork.node("acme.takes")(takes), inputs={"photo": value, "upload": PHOTO})
    assert result.error is None, result.error
    return got[0]


@pytest.mark.parametrize(
    ("annotation", "value", "made"),
    [
        (weftwork.Media, PHOTO.media_ref, weftwork.Media(PHOTO.media_ref)),
        (weftwork.Media | None, PHOTO.media_ref, weftwork.Media(PHOTO.media_ref)),
        (weftwork.Media | None, None, None),
        (list[weftwork.Media], [PHOTO.media_ref, {"mediaRef": NOBODYS}], [PHOTO.media_ref, NOBODYS]),
        (list[weftwork.Media] | None, [PHOTO.media_ref], [PHOTO.media_ref]),
        (dict[str, weftwork.Media], {"a": PHOTO.media_ref}, {"a": weftwork.Media(PHOTO.media_ref)}),
        (weftwork.Media | str, PHOTO.media_ref, PHOTO.media_ref),
        (str, PHOTO.media_ref, PHOTO.media_ref),
        (weftwork.Media, {"mediaRef": PHOTO.media_ref}, weftwork.Media(PHOTO.media_ref)),
    ],
)
def test_a_port_of_media_takes_a_name(annotation: Any, value: Any, made: Any) -> None:
    if isinstance(made, list):
        made = [weftwork.Media(each) for each in made]
    assert told(annotation, value) == made


def test_a_named_photo_is_read_and_shown() -> None:
    @weftwork.node("acme.copy")
    async def copy(ctx: weftwork.Context, photo: weftwork.Media, upload: Any) -> weftwork.Media:
        answer = await ctx.call_ai("What is it?", media=photo)
        await ctx.call_ai("And this?", media=photo.media_ref)
        await ctx.call_ai("And these?", media=[photo.media_ref, {"mediaRef": photo.media_ref}])
        await ctx.generate_envelope("error", media=photo.media_ref)
        assert (await ctx.read_media(photo)).mime_type == "image/png"
        return await ctx.emit_image(photo, alt=answer.text)

    model = FakeModel(["A dot.", "b", "c", '{"message": "No.", "code": "x"}'])
    result = run_node(copy, inputs={"photo": PHOTO.media_ref, "upload": PHOTO}, model=model)
    assert result.error is None, result.error
    assert result.media[0].payload["alt"] == "A dot."
    parts = [[part for message in each.messages for part in message.media] for each in model.requests]
    assert [len(each) for each in parts] == [1, 1, 2, 1]
    assert {(part.modality, part.media_type) for each in parts for part in each} == {("image", "image/png")}


@pytest.mark.parametrize("value", ["weftwork-asset:1", "https://example.com/a.png", "", 7, [PHOTO.media_ref]])
def test_what_is_no_name_does_not_fit_the_port(value: Any) -> None:
    @weftwork.node("acme.takes")
    async def takes(ctx: weftwork.Context, photo: weftwork.Media) -> None: ...

    error = run_node(takes, inputs={"photo": value}).error
    assert error is not None
    assert error.code in ("node_config_invalid", "node_input_invalid")


def test_without_the_wider_port_a_name_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signature, "accept_media_refs", lambda kind: kind)  # sabotage
    with pytest.raises(AssertionError):
        told(weftwork.Media, PHOTO.media_ref)


@dataclasses.dataclass
class Order:
    photo: weftwork.Media


class Letter(TypedDict):
    photo: weftwork.Media


@pytest.mark.parametrize("kind", [Order, Letter, int, list[int], tuple[int, str], dict[str, Any], Any, None])
def test_other_annotations_are_as_they_were(kind: Any) -> None:
    assert media_port.accept_media_refs(kind) is kind


@pytest.mark.rule("media-65")
@pytest.mark.parametrize("data", [b"", bytearray(), memoryview(b"")])
@pytest.mark.parametrize("kind", ["image", "audio", "file"])
def test_no_bytes_are_nothing_to_show(kind: str, data: Any) -> None:
    assert media_error(lambda ctx: getattr(ctx, f"emit_{kind}")(data)) == ("node_misused", [])


def test_an_empty_file_is_nothing_to_show() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "empty")
        path.touch()
        assert media_error(lambda ctx: ctx.emit_file(path)) == ("node_misused", [])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (5, "an object of type int"),
        (None, "an object of type NoneType"),
        ("a.png", "a text"),
        ({}, "an object that has none"),
        (b"", "no bytes"),
    ],
)
def test_the_message_says_what_was_given(data: Any, words: str) -> None:
    @weftwork.node("acme.does")
    async def does(ctx: weftwork.Context) -> None:
        await ctx.emit_image(data)

    error = run_node(does).error
    assert error is not None
    assert error.code == "node_misused"
    assert words in error.message


def test_the_number_of_bytes_always_stands_in_json() -> None:
    assert as_json(weftwork.Media(NOBODYS)) == {"mediaRef": NOBODYS, "bytes": 0}
    assert as_json(weftwork.Media(NOBODYS, "image/png", 3)) == {
        "mediaRef": NOBODYS,
        "mimeType": "image/png",
        "bytes": 3,
    }
