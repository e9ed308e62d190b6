"""The contexts of async and plain functions: the same methods, and types that tell them apart.

assert_type does nothing when it is called; the type checker, which `make check` runs over the tests, fails on it.
"""

from typing import Any, assert_type

import pytest

import weftwork
from weftwork.adapters.python.calls.fetch import FetchResponse
from weftwork.adapters.python.calls.model_calls import AiAnswer, Envelope
from weftwork.testing import FakeModel, respond, run_node

URL = "https://api.example.com/x"
PNG = b"\x89PNG\r\n\x1a\n" + b"p" * 100
KIND = weftwork.EnvelopeKind("vendor.acme.note", schema={"type": "object"})


def number() -> int:
    return 7


async def word() -> str:
    return "seven"


@weftwork.node("acme.awaits")
async def awaits(ctx: weftwork.Context) -> None:
    assert_type(await ctx.step("plain", number), int)
    assert_type(await ctx.step("async", word), str)
    assert_type(await ctx.get_version("change", 1, 2), int)
    assert_type(await ctx.fetch(URL), FetchResponse)
    assert_type(await ctx.call_ai("Hello"), AiAnswer)
    assert_type(await ctx.generate_envelope(KIND, "Hello"), Envelope)
    shown = assert_type(await ctx.emit_image(PNG), weftwork.Media)
    assert_type(await ctx.read_media(shown), weftwork.MediaContent)
    assert_type(await ctx.clarify("who", {"name": "Who?"}), dict[str, Any])


@weftwork.node("acme.blocks")
def blocks(ctx: weftwork.PlainContext) -> None:
    assert_type(ctx.step("plain", number), int)
    assert_type(ctx.step("async", word), str)
    assert_type(ctx.get_version("change", 1, 2), int)
    assert_type(ctx.fetch(URL), FetchResponse)
    assert_type(ctx.call_ai("Hello"), AiAnswer)
    assert_type(ctx.generate_envelope(KIND, "Hello"), Envelope)
    shown = assert_type(ctx.emit_image(PNG), weftwork.Media)
    assert_type(ctx.read_media(shown), weftwork.MediaContent)
    assert_type(ctx.clarify("who", {"name": "Who?"}), dict[str, Any])


@pytest.mark.parametrize("function", [awaits, blocks])
def test_every_call_works_in_both(function: Any) -> None:
    model = FakeModel(["Hello.", '{"type": "vendor.acme.note", "payload": {}}'] * 2)
    answers = {"who": {"answers": {"name": "Ann"}}}
    result = run_node(function, model=model, kinds=[KIND], answers=answers, fetch=lambda request: respond())
    assert result.error is None
    assert result.media[0].data == PNG


def test_both_have_the_same_methods_and_docstrings() -> None:
    def public(kind: type) -> dict[str, Any]:
        return {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}

    assert public(weftwork.Context) == public(weftwork.PlainContext)
    slots = {"attempt", "iteration", "log", "node_id", "run_id"}
    assert [name for name, each in public(weftwork.Context).items() if name not in slots and not each.__doc__] == []
