"""Calls of models that cannot work: what is said, before any model is asked."""

from typing import Any

import pytest

import weftwork
from weftwork.testing import FakeModel, run_node


def refused(name: str, *arguments: Any, plain: bool = False, **named: Any) -> str:
    """What is said of a call, by either context."""
    model = FakeModel([])

    @weftwork.node("acme.asks")
    async def asks(ctx: weftwork.Context) -> None:
        await getattr(ctx, name)(*arguments, **named)

    @weftwork.node("acme.asks-plain")
    def asks_plain(ctx: weftwork.PlainContext) -> None:
        getattr(ctx, name)(*arguments, **named)

    error = run_node(asks_plain if plain else asks, model=model).error
    assert error is not None
    assert (error.code, model.requests) == ("node_misused", [])
    return error.message


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({}, "takes a prompt, or messages"),
        ({"messages": []}, "takes a prompt, or messages"),
        ({"prompt": 7}, "takes prompt as a text, and not as an object of type int"),
        ({"prompt": "a\ud800"}, "without NUL and lone surrogates"),
        ({"prompt": "x", "system": None}, "takes system as a text"),
        ({"messages": {"role": "user", "content": "x"}}, "a list of objects with role and content"),
        ({"messages": ["x"]}, "the message 0 is no object with role and content"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "one of the roles user, assistant, system"),
        ({"messages": [{"role": "user", "content": 1}]}, "the message 0 needs a text"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "the message 0 needs a text"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "the message 0 needs a text"),
        ({"prompt": "x", "messages": [{"role": "user", "content": "x"}] * 1000}, "up to 1,000 messages"),
        ({"prompt": "x", "provider": ""}, "takes provider as a text"),
        ({"prompt": "x", "model": 1}, "takes model as a text"),
        ({"prompt": "x", "temperature": 2.1}, "temperature as a number from 0 to 2"),
        ({"prompt": "x", "temperature": float("nan")}, "temperature as a number from 0 to 2"),
        ({"prompt": "x", "temperature": True}, "temperature as a number from 0 to 2"),
        ({"prompt": "x", "max_tokens": 0}, "max_tokens as an integer from 1 to 10,000,000"),
        ({"prompt": "x", "max_tokens": 1.5}, "max_tokens as an integer from 1 to 10,000,000"),
        ({"prompt": "x", "stop": [""]}, "stop as up to 16 texts"),
        ({"prompt": "x", "stop": 3}, "stop as up to 16 texts"),
        ({"prompt": "x", "schema": 7}, "A schema is a JSON Schema, or a struct"),
        ({"prompt": "x", "schema": {"type": object()}}, "The schema is not JSON"),
        ({"prompt": "x", "schema": {"type": "thing"}}, "The schema cannot be used"),
        ({"prompt": "x", "schema": {"$ref": "https://example.com/x"}}, "The schema cannot be used"),
        ({"prompt": "x", "schema": {"type": "object"}, "stream": True}, "cannot stream what is to fit a schema"),
    ],
)
def test_a_call_that_cannot_work_says_why(named: dict[str, Any], said: str, plain: bool) -> None:
    assert said in refused("call_ai", plain=plain, **named)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((7, "x"), "takes a kind of envelope"),
        (("", "x"), "takes a kind of envelope"),
        (("vendor.acme.plan",), "takes a prompt, messages, or a text as system"),
    ],
)
def test_an_envelope_that_cannot_be_wanted_says_why(arguments: tuple[Any, ...], said: str) -> None:
    assert said in refused("generate_envelope", *arguments)


def test_only_json_can_be_quoted() -> None:
    assert "ctx.quote takes what is JSON" in refused("quote", object(), plain=True)


@pytest.mark.parametrize("plain", [False, True])
def test_a_step_cannot_ask_a_model(plain: bool) -> None:
    @weftwork.node("acme.asks")
    async def asks(ctx: weftwork.Context) -> Any:
        return await ctx.step("ask", lambda: ctx.call_ai("x"))

    @weftwork.node("acme.asks-plain")
    def asks_plain(ctx: weftwork.PlainContext) -> Any:
        return ctx.step("ask", lambda: ctx.call_ai("x").text)

    error = run_node(asks_plain if plain else asks, model=["never"]).error
    assert error is not None
    assert (error.code, "A step cannot ask a model" in error.message) == ("node_misused", True)


def test_a_node_that_must_not_happen_twice_cannot_ask_a_model() -> None:
    @weftwork.node("acme.asks", effect="once")
    async def asks(ctx: weftwork.Context) -> Any:
        return await ctx.call_ai("x")

    error = run_node(asks, model=["never"]).error
    assert error is not None
    assert (error.code, "effect once" in error.message) == ("node_misused", True)


def test_a_call_that_nobody_awaits_is_a_mistake() -> None:
    @weftwork.node("acme.asks")
    async def asks(ctx: weftwork.Context) -> None:
        ctx.call_ai("x")  # pyright: ignore[reportUnusedCoroutine]

    model = FakeModel(["never"])
    error = run_node(asks, model=model).error
    assert error is not None
    assert (error.code, model.requests) == ("node_misused", [])
    assert error.message.startswith("ctx.call_ai was called without await")
