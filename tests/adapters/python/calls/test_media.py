"""Media of Python nodes: shown, kept by reference, and read from files."""

import contextvars
import dataclasses
import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import pytest

import weftwork
from tests.adapters.python.calls.media_nodes import PDF, PNG, WAV, media_error, run_media_node
from tests.harness.cases import each_case, fails_without, present
from weftwork.adapters.python.calls import media
from weftwork.adapters.python.declaration import signature
from weftwork.adapters.python.declaration import signature as media_port
from weftwork.adapters.python.values import as_json
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.asset_references import media_ref
from weftwork.testing import Asset, FakeModel, run_node

NOBODYS = media_ref("ab" * 32)


@pytest.mark.rule("media-65")
@each_case(
    "kind, data, more, told",
    ("image", PNG, {"alt": "A dot", "mime_type": "image/png"}, {"mimeType": "image/png", "alt": "A dot"}),
    ("image", bytearray(PNG), {}, {"mimeType": "image/png"}),
    ("audio", WAV, {"duration_seconds": 1.5}, {"mimeType": "audio/wav", "durationSeconds": 1.5}),
    ("file", memoryview(PDF), {"name": "report.pdf"}, {"mimeType": "application/pdf", "name": "report.pdf"}),
    ("file", PNG, {"mime_type": "text/html"}, {"mimeType": "application/octet-stream"}),
)
def test_what_is_sent_is_shown(kind: str, data: Any, more: dict[str, Any], told: dict[str, Any]) -> None:
    once, _ = run_media_node(lambda ctx: getattr(ctx, f"emit_{kind}")(data, **more), effect="once")
    assert (once.error, [each.data for each in once.media]) == (None, [bytes(data)])
    result, (got,) = run_media_node(lambda ctx: getattr(ctx, f"emit_{kind}")(data, **more))
    assert result.error is None
    (shown,) = result.media
    assert (shown.kind, shown.data) == (kind, bytes(data))
    assert shown.payload == {"url": got.url, "bytes": len(data), **told}
    assert got.media_ref == media_ref(hashlib.sha256(data).hexdigest())
    assert (got.bytes, got.mime_type) == (len(data), told["mimeType"])
    assert got.envelope_id


def test_what_comes_back_is_a_reference_in_json() -> None:
    async def show(ctx: weftwork.Context) -> Any:
        return await ctx.emit_image(PNG), await ctx.emit_image(PNG, inline=True)

    result, ((by_url, inline),) = run_media_node(show)
    ids = {"mediaRef": by_url.media_ref, "url": by_url.url, "envelopeId": by_url.envelope_id}
    assert as_json(by_url) == {**ids, "mimeType": "image/png", "bytes": 100}
    assert inline.url is None
    assert as_json(inline).keys() == as_json(by_url).keys() - {"url"}
    assert [each.data for each in result.media] == [PNG, PNG]
    assert "base64" in result.media[1].payload
    # The number of bytes always stands there.
    assert as_json(weftwork.Media(NOBODYS)) == {"mediaRef": NOBODYS, "bytes": 0}
    typed = {"mediaRef": NOBODYS, "mimeType": "image/png", "bytes": 3}
    assert as_json(weftwork.Media(NOBODYS, "image/png", 3)) == typed


def test_a_port_can_bring_media_and_a_node_can_give_them() -> None:
    @weftwork.node("acme.copy")
    async def copy(ctx: weftwork.Context, photo: weftwork.Media) -> weftwork.Media:
        content = await ctx.read_media(photo)
        return await ctx.emit_image(content.data + b"!", alt=f"{content.mime_type} of {photo.bytes} bytes")

    result = run_node(copy, inputs={"photo": Asset(PNG)})
    assert result.error is None
    assert result.media[0].data == PNG + b"!"
    assert result.media[0].payload["alt"] == "image/png of 100 bytes"
    assert result.outputs["mediaRef"] == Asset(PNG + b"!").media_ref


@each_case("form", lambda asset: asset.media_ref, dict, lambda asset: weftwork.Media(asset.media_ref))
def test_an_asset_is_shown_by_whatever_names_it(form: Callable[[Asset], Any]) -> None:
    asset = Asset(PNG)

    @weftwork.node("acme.shows")
    async def shows(ctx: weftwork.Context, photo: Any) -> None:
        await ctx.emit_image(form(asset))
        await ctx.emit_file(await ctx.read_media(form(asset)))

    result = run_node(shows, inputs={"photo": asset})
    assert result.error is None
    assert [(each.kind, each.data) for each in result.media] == [("image", PNG), ("file", PNG)]


def test_a_plain_function_has_the_same_names() -> None:
    @weftwork.node("acme.plain")
    def plain(ctx: weftwork.PlainContext, photo: weftwork.Media) -> weftwork.Media:
        content = ctx.read_media(photo)
        ctx.emit_audio(WAV, alt="A hum")
        ctx.emit_file(PDF, name="a.pdf")
        return ctx.emit_image(content.data)

    result = run_node(plain, inputs={"photo": Asset(PNG)})
    assert result.error is None
    assert [each.data for each in result.media] == [WAV, PDF, PNG]
    assert result.outputs["mimeType"] == "image/png"


@pytest.mark.rule("media-66")
def test_reading_makes_the_node_untrusted() -> None:
    async def read(ctx: weftwork.Context) -> Any:
        made = await ctx.emit_image(PNG)
        before = ctx.untrusted
        content = await ctx.read_media(made)
        return before, ctx.untrusted, content.media_ref == made.media_ref

    result, got = run_media_node(read)
    assert got == [(False, True, True)]
    assert "weftwork.content.outside" in [event.type for event in result.events]


@pytest.mark.rule("media-66")
@each_case("ref", NOBODYS, {"mediaRef": NOBODYS}, {"url": "x"}, "no reference", 7, None)
def test_what_is_not_there_and_what_is_no_reference_are_not_found(ref: Any) -> None:
    assert media_error(lambda ctx: ctx.read_media(ref)) == ("media_not_found", [])
    assert media_error(lambda ctx: ctx.emit_image(NOBODYS)) == ("media_not_found", [])


def test_more_than_the_author_wants_is_not_read() -> None:
    async def read(ctx: weftwork.Context) -> Any:
        made = await ctx.emit_image(PNG)
        assert (await ctx.read_media(made, most=100)).data == PNG
        return await ctx.read_media(made, most=99)

    assert media_error(read)[0] == "media_too_large"


@each_case("data", "a text", "https://example.com/a.png", 7, None, ["a"], {"mediaRef": "x"}, {})
def test_what_is_no_source_is_a_mistake_in_the_code(data: Any) -> None:
    assert media_error(lambda ctx: ctx.emit_image(data)) == ("node_misused", [])


@each_case(
    "more",
    *(
        [{"alt": 7}, {"title": None}, {"name": "a\0b"}, {"mime_type": b"x"}, {"duration_seconds": -1}]
        + [{"duration_seconds": value} for value in (float("nan"), float("inf"), "1", True)]
    ),
)
def test_what_is_said_of_it_has_its_types(more: dict[str, Any]) -> None:
    assert media_error(lambda ctx: ctx.emit_audio(WAV, **more)) == ("node_misused", [])


def test_an_emission_that_nobody_awaits_fails_the_node() -> None:
    async def forget(ctx: weftwork.Context) -> None:
        ctx.emit_image(PNG)  # pyright: ignore[reportUnusedCoroutine]

    result, _ = run_media_node(forget)
    assert (present(result.error).code, result.media) == ("node_misused", [])


@fails_without(media, "current_step", contextvars.ContextVar("nowhere", default=""), errors=(ValueError,))
def test_a_step_cannot_emit() -> None:
    async def in_step(ctx: weftwork.Context) -> None:
        async def show() -> None:
            await ctx.emit_image(PNG)

        await ctx.step("show", show)

    assert media_error(in_step) == ("node_misused", [])


def test_a_step_can_read() -> None:
    @weftwork.node("acme.reads")
    async def reads(ctx: weftwork.Context, photo: Any) -> int:
        async def size() -> int:
            return len((await ctx.read_media(photo)).data)

        return await ctx.step("size", size)

    assert run_node(reads, inputs={"photo": Asset(PNG)}).outputs == {"output": 100}


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


@each_case(
    "annotation, value, made",
    (weftwork.Media, PHOTO.media_ref, weftwork.Media(PHOTO.media_ref)),
    (weftwork.Media | None, PHOTO.media_ref, weftwork.Media(PHOTO.media_ref)),
    (weftwork.Media | None, None, None),
    (list[weftwork.Media], [PHOTO.media_ref, {"mediaRef": NOBODYS}], [PHOTO.media_ref, NOBODYS]),
    (list[weftwork.Media] | None, [PHOTO.media_ref], [PHOTO.media_ref]),
    (dict[str, weftwork.Media], {"a": PHOTO.media_ref}, {"a": weftwork.Media(PHOTO.media_ref)}),
    (weftwork.Media | str, PHOTO.media_ref, PHOTO.media_ref),
    (str, PHOTO.media_ref, PHOTO.media_ref),
    (weftwork.Media, {"mediaRef": PHOTO.media_ref}, weftwork.Media(PHOTO.media_ref)),
)
def test_a_port_of_media_takes_a_name(annotation: Any, value: Any, made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(made, list):
        made = [weftwork.Media(each) for each in made]
    assert told(annotation, value) == made
    with monkeypatch.context() as sabotage:
        sabotage.setattr(signature, "accept_media_refs", lambda kind: kind)
        with pytest.raises(AssertionError):
            told(weftwork.Media, PHOTO.media_ref)


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


@each_case("value", "weftwork-asset:1", "https://example.com/a.png", "", 7, [PHOTO.media_ref])
def test_what_is_no_name_does_not_fit_the_port(value: Any) -> None:
    @weftwork.node("acme.takes")
    async def takes(ctx: weftwork.Context, photo: weftwork.Media) -> None: ...

    error = present(run_node(takes, inputs={"photo": value}).error)
    assert error.code in ("node_config_invalid", "node_input_invalid")


@dataclasses.dataclass
class Order:
    photo: weftwork.Media


class Letter(TypedDict):
    photo: weftwork.Media


@each_case("kind", Order, Letter, int, list[int], tuple[int, str], dict[str, Any], Any, None)
def test_other_annotations_are_as_they_were(kind: Any) -> None:
    assert media_port.accept_media_refs(kind) is kind


@pytest.mark.rule("media-65")
@each_case("data", b"", bytearray(), memoryview(b""))
@each_case("kind", "image", "audio", "file")
def test_no_bytes_are_nothing_to_show(tmp_path: Path, kind: str, data: Any) -> None:
    assert media_error(lambda ctx: getattr(ctx, f"emit_{kind}")(data)) == ("node_misused", [])
    path = tmp_path / "empty"
    path.touch()
    assert media_error(lambda ctx: getattr(ctx, f"emit_{kind}")(path)) == ("node_misused", [])


@each_case(
    "data, words",
    (5, "an object of type int"),
    (None, "an object of type NoneType"),
    ("a.png", "another text"),
    ({}, "an object without a valid mediaRef"),
    (b"", "media is empty"),
)
def test_the_message_says_what_was_given(data: Any, words: str) -> None:
    @weftwork.node("acme.does")
    async def does(ctx: weftwork.Context) -> None:
        await ctx.emit_image(data)

    error = present(run_node(does).error)
    assert error.code == "node_misused"
    assert words in error.message


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "dot.png"
    path.write_bytes(PNG)
    result, _ = run_media_node(lambda ctx: ctx.emit_image(path))
    assert result.media[0].data == PNG
    failed, _ = run_media_node(lambda ctx: ctx.emit_image(tmp_path / "nothing.png"))
    assert present(failed.error).code == "node_failed"
    assert isinstance(failed.raised, FileNotFoundError)


SMALL = Limits(max_upload_bytes=99)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dot.png"
    path.write_bytes(PNG)
    assert media_error(lambda ctx: ctx.emit_image(path), SMALL) == ("media_too_large", [])
    assert media_error(lambda ctx: ctx.emit_image(PNG), SMALL) == ("media_too_large", [])
    read: list[int] = []
    opened = open

    def watched(*given: Any) -> Any:
        return _Watched(opened(*given), read)

    monkeypatch.setattr(media, "open", watched, raising=False)
    assert media_error(lambda ctx: ctx.emit_image(path), SMALL)[0] == "media_too_large"
    assert read == []
    # Without the look at its size, it is read.
    monkeypatch.setattr(os, "fstat", lambda _: os.stat_result((0o100644, *[0] * 9)))
    assert media_error(lambda ctx: ctx.emit_image(path), SMALL)[0] == "media_too_large"
    assert read == [100]


class _Watched:
    """A file whose reads are seen."""

    def __init__(self, file: Any, seen: list[int]) -> None:
        self._file = file
        self._seen = seen
        self.fileno = file.fileno

    def read(self, size: int) -> bytes:
        self._seen.append(size)
        return self._file.read(size)

    def __enter__(self) -> "_Watched":
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()


def test_a_pipe_and_a_folder_keep_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    waited, _ = run_media_node(lambda ctx: ctx.emit_image(pipe))
    assert waited.error is not None
    assert (waited.error.code, "regular file" in waited.error.message) == ("node_misused", True)
    failed, _ = run_media_node(lambda ctx: ctx.emit_image(tmp_path))
    assert failed.error is not None
    # Without the look at what it is, a pipe counts as an empty file.
    monkeypatch.setattr(stat, "S_ISREG", lambda _: True)
    result, _ = run_media_node(lambda ctx: ctx.emit_image(pipe))
    assert "media is empty" in present(result.error).message
