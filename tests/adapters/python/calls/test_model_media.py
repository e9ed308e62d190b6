"""What functions show models: in every form, once, and what they are told where it cannot be shown."""

from typing import Any

import pytest

import weftwork
from tests.harness.cases import each_case, present
from tests.harness.definitions import node, workflow
from weftwork.engine.models.model_calls import EntryModelCalls
from weftwork.ports.models import ModelMediaPart, ModelRequest
from weftwork.protocol.media.message_parts import MODALITIES
from weftwork.testing import Asset, FakeModel, FakeOutbound, UnexpectedRequest, crash_everywhere, run_node

ALL = frozenset(MODALITIES)
PNG = b"\x89PNG\r\n\x1a\n" + b"picture"
URL = "https://pictures.example.com/a.png"
IMAGE = {"type": "image", "mimeType": "image/png"}


def shown(model: FakeModel, call: int = 0) -> list[ModelMediaPart]:
    return [part for message in model.requests[call].messages for part in message.media]


@pytest.mark.rule("media-50")
def test_a_function_shows_media_in_every_form() -> None:
    photo = Asset(PNG)

    @weftwork.node("acme.looks")
    def looks(ctx: weftwork.PlainContext, photo: weftwork.Media) -> dict[str, Any]:
        content = [{"type": "text", "text": "x"}, {**IMAGE, "data": PNG}]
        ctx.call_ai(messages=[{"role": "user", "content": content}], media=photo)
        ctx.call_ai(media=[{**IMAGE, "data": PNG}, {"mimeType": "application/pdf", "data": bytearray(b"%PDF-")}])
        ctx.call_ai("Sum up.", messages=[{"role": "assistant", "content": "Hi"}], media=[photo])
        made = ctx.generate_envelope("error", media=photo)
        return {"type": made.envelope_type, "untrusted": ctx.untrusted, "trust": made.content_trust}

    envelope = '{"message": "No.", "code": "x"}'
    model = FakeModel(["a", "b", "c", envelope])
    result = run_node(looks, inputs={"photo": photo}, model=model)
    assert result.error is None, result.error
    assert result.outputs == {"type": "error", "untrusted": True, "trust": "untrusted"}
    kinds = [[(part.modality, part.media_ref) for part in shown(model, call)] for call in range(4)]
    ref = photo.media_ref
    assert kinds == [
        [("image", None), ("image", ref)],
        [("image", None), ("document", None)],
        [("image", ref)],
        [("image", ref)],
    ]
    assert [message.role for message in model.requests[2].messages] == ["assistant", "user"]


@each_case("media", "text", b"bytes", 7, [object()], [{"data": {1}}], [{"data": 1.5}])
def test_what_is_no_part_is_a_mistake_of_the_author(media: Any) -> None:
    @weftwork.node("acme.looks")
    async def looks(ctx: weftwork.Context) -> None:
        await ctx.call_ai("x", media=media)

    model = FakeModel([])
    error = present(run_node(looks, model=model).error)
    assert error.code in ("node_misused", "node_config_invalid")
    assert model.requests == []


def test_a_function_may_catch_what_cannot_be_shown() -> None:
    @weftwork.node("acme.looks")
    async def looks(ctx: weftwork.Context) -> list[str]:
        codes: list[str] = []
        for media in ({**IMAGE, "mediaRef": "x"}, {"type": "video"}, {**IMAGE, "url": "https://127.0.0.1/"}):
            try:
                await ctx.call_ai("x", media=media)
            except weftwork.NodeError as error:
                codes.append(error.code)
        return codes

    result = run_node(looks, model=FakeModel([]))
    assert result.outputs == {"output": ["media_not_found", "unsupported_modality", "ssrf_blocked"]}


@pytest.mark.rule("media-52")
def test_what_is_recorded_is_not_fetched_again() -> None:
    """The picture can be had once. Wherever the process ends after the answer, the run still completes as it did."""
    outbounds: list[FakeOutbound] = []
    models: list[FakeModel] = []

    def fetch() -> FakeOutbound:
        outbounds.append(FakeOutbound({URL: PNG}))
        return outbounds[-1]

    def model() -> FakeModel:
        models.append(FakeModel(lambda request: request.messages[0].text))
        return models[-1]

    @weftwork.node("acme.looks")
    async def looks(ctx: weftwork.Context) -> dict[str, str]:
        first = await ctx.call_ai("What is it?", media={**IMAGE, "url": URL})
        return {"first": first.text, "second": (await ctx.call_ai("And now?")).text}

    document = workflow([node("n", "acme.looks")])
    results = list(crash_everywhere(document, nodes=[looks], fetch=fetch, model=model))
    assert {result.status for result in results} == {"completed"}
    assert all(result.nodes["n"].outputs == {"first": "What is it?", "second": "And now?"} for result in results)
    # A call whose answer was not recorded is made anew; nothing is fetched for one that was.
    fetched = [len(each.requests) for each in outbounds]
    asked = [sum(bool(shown(each, at)) for at in range(len(each.requests))) for each in models]
    assert fetched == asked
    assert {*fetched} == {1, 2}


@pytest.mark.rule("media-52")
def test_a_recorded_answer_survives_the_end_of_the_picture() -> None:
    @weftwork.node("acme.looks")
    async def looks(ctx: weftwork.Context) -> str:
        said = (await ctx.call_ai("What is it?", media={**IMAGE, "url": URL})).text
        await ctx.approve("go", title="Go on?")
        return said

    outbound = FakeOutbound({URL: iter([PNG])})
    model = FakeModel(["A chair."])
    result = run_node(looks, model=model, fetch=outbound, answers={"go": {"action": "accept"}})
    assert result.error is None, result.error
    assert (result.outputs, len(outbound.requests), len(model.requests)) == ({"output": "A chair."}, 1, 1)


def test_if_replays_looked_too_the_picture_would_have_to_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    generate = EntryModelCalls.generate

    async def looking(self: Any, request: ModelRequest, along: Any) -> Any:
        await self._message_media.resolve(request, ALL)
        return await generate(self, request, along)

    monkeypatch.setattr(EntryModelCalls, "generate", looking)  # sabotage
    with pytest.raises((AssertionError, UnexpectedRequest, RuntimeError)):
        test_a_recorded_answer_survives_the_end_of_the_picture()


@pytest.mark.rule("media-44")
@each_case("size, code", (4 * 2**20, None), (10 * 2**20 + 1, "media_too_large"))
def test_bytes_of_a_part_have_no_bound_but_that_of_parts(size: int, code: str | None) -> None:
    @weftwork.node("acme.looks")
    async def looks(ctx: weftwork.Context) -> str:
        return (await ctx.call_ai("What is it?", media={**IMAGE, "data": PNG.ljust(size, b"x")})).text

    error = run_node(looks, model=FakeModel(["{media[0].bytes}"])).error
    assert (error.code if error else None) == code
