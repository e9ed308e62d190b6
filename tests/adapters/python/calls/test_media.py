"""Media in Python nodes: what an author sends and gets back, and what he may not."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

import weftwork
from tests.adapters.python.calls.media_nodes import PDF, PNG, WAV, media_error, run_media_node
from weftwork.adapters.python.calls import media
from weftwork.adapters.python.values import as_json
from weftwork.protocol.media.asset_references import media_ref
from weftwork.testing import Asset, run_node

NOBODYS = media_ref("ab" * 32)


@pytest.mark.rule("media-65")
@pytest.mark.parametrize(
    ("kind", "data", "more", "told"),
    [
        ("image", PNG, {"alt": "A dot", "mime_type": "image/png"}, {"mimeType": "image/png", "alt": "A dot"}),
        ("image", bytearray(PNG), {}, {"mimeType": "image/png"}),
        ("audio", WAV, {"duration_seconds": 1.5}, {"mimeType": "audio/wav", "durationSeconds": 1.5}),
        ("file", memoryview(PDF), {"name": "report.pdf"}, {"mimeType": "application/pdf", "name": "report.pdf"}),
        ("file", PNG, {"mime_type": "text/html"}, {"mimeType": "application/octet-stream"}),
    ],
)
def test_what_is_sent_is_shown(kind: str, data: Any, more: dict[str, Any], told: dict[str, Any]) -> None:
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
    assert as_json(by_url) == {
        "mediaRef": by_url.media_ref,
        "mimeType": "image/png",
        "bytes": 100,
        "url": by_url.url,
        "envelopeId": by_url.envelope_id,
    }
    assert inline.url is None
    assert as_json(inline).keys() == as_json(by_url).keys() - {"url"}
    assert [each.data for each in result.media] == [PNG, PNG]
    assert "base64" in result.media[1].payload


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


@pytest.mark.parametrize("form", [lambda asset: asset.media_ref, dict, lambda asset: weftwork.Media(asset.media_ref)])
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
@pytest.mark.parametrize("ref", [NOBODYS, {"mediaRef": NOBODYS}, {"url": "x"}, "no reference", 7, None])
def test_what_is_not_there_and_what_is_no_reference_are_not_found(ref: Any) -> None:
    assert media_error(lambda ctx: ctx.read_media(ref)) == ("media_not_found", [])


def test_more_than_the_author_wants_is_not_read() -> None:
    async def read(ctx: weftwork.Context) -> Any:
        made = await ctx.emit_image(PNG)
        assert (await ctx.read_media(made, most=100)).data == PNG
        return await ctx.read_media(made, most=99)

    assert media_error(read)[0] == "media_too_large"


def test_a_foreign_asset_is_not_shown() -> None:
    assert media_error(lambda ctx: ctx.emit_image(NOBODYS)) == ("media_not_found", [])


@pytest.mark.parametrize("data", ["a text", "https://example.com/a.png", 7, None, ["a"], {"mediaRef": "x"}, {}])
def test_what_is_no_source_is_a_mistake_in_the_code(data: Any) -> None:
    assert media_error(lambda ctx: ctx.emit_image(data)) == ("node_misused", [])


@pytest.mark.parametrize(
    "more",
    [{"alt": 7}, {"title": None}, {"name": "a\0b"}, {"mime_type": b"x"}, {"duration_seconds": -1}]
    + [{"duration_seconds": value} for value in (float("nan"), float("inf"), "1", True)],
)
def test_what_is_said_of_it_has_its_types(more: dict[str, Any]) -> None:
    assert media_error(lambda ctx: ctx.emit_audio(WAV, **more)) == ("node_misused", [])


def test_an_emission_that_nobody_awaits_fails_the_node() -> None:
    async def forget(ctx: weftwork.Context) -> None:
        ctx.emit_image(PNG)  # pyright: ignore[reportUnusedCoroutine]

    result, _ = run_media_node(forget)
    assert result.error is not None
    assert (result.error.code, result.media) == ("node_misused", [])


async def _in_step(ctx: weftwork.Context) -> None:
    async def show() -> None:
        await ctx.emit_image(PNG)

    await ctx.step("show", show)


def test_a_step_cannot_emit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert media_error(_in_step) == ("node_misused", [])

    class Nowhere:
        def get(self) -> str:
            return ""

    monkeypatch.setattr(media, "current_step", Nowhere())
    result, _ = run_media_node(_in_step)
    assert [each.data for each in result.media] == [PNG]


def test_a_step_can_read() -> None:
    asset = Asset(PNG)

    @weftwork.node("acme.reads")
    async def reads(ctx: weftwork.Context, photo: Any) -> int:
        async def size() -> int:
            return len((await ctx.read_media(photo)).data)

        return await ctx.step("size", size)

    assert run_node(reads, inputs={"photo": asset}).outputs == {"output": 100}


def test_a_node_of_the_effect_once_may_emit() -> None:
    result, _ = run_media_node(lambda ctx: ctx.emit_image(PNG), effect="once")
    assert (result.error, [each.data for each in result.media]) == (None, [PNG])
