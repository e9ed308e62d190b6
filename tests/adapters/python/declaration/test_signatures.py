"""Calls of functions with any signature: what the schemas take reaches the function, in its types and as a copy."""

import contextlib
import inspect
from types import FunctionType
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weftwork
from tests.adapters.python.fake_node_host import FakeNodeHost
from tests.adapters.python.test_values import jsons, kinds
from tests.harness.definitions import example_count
from weftwork.adapters.python import node_runner
from weftwork.adapters.python.declaration.decorator import node_of
from weftwork.adapters.python.values import as_json, convert
from weftwork.ports.node_outcome import Completed, Failed, Suspended
from weftwork.protocol.json import schema

NAMES = ("a", "b", "value")


@st.composite
def signatures(draw: st.DrawFn) -> dict[str, tuple[Any, bool]]:
    """Ports with their types and whether they have a default; those without stand first."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
    optional = draw(st.integers(0, len(names)))
    return {name: (draw(kinds), at >= len(names) - optional) for at, name in enumerate(names)}


def function_of(ports: dict[str, tuple[Any, bool]]) -> Any:
    """An async function that gives back what it was called with."""
    names: dict[str, Any] = {"default": msgspec.UNSET}
    source = ", ".join(f"{name}=default" if optional else name for name, (_, optional) in ports.items())
    exec(f"async def made(ctx, {source}): return dict(locals())", names)
    function = names["made"]
    assert isinstance(function, FunctionType)
    function.__annotations__ = {
        name: kind | msgspec.UnsetType if optional else kind for name, (kind, optional) in ports.items()
    }
    return function


@settings(max_examples=example_count(200), deadline=None)
@given(signatures(), st.dictionaries(st.sampled_from([*NAMES, "other"]), jsons, max_size=4))
def test_a_function_is_called_exactly_with_what_its_schema_takes(
    ports: dict[str, tuple[Any, bool]], inputs: dict[str, Any]
) -> None:
    function = function_of(ports)
    assert list(inspect.signature(function).parameters) == ["ctx", *ports]
    seen: list[dict[str, Any]] = []

    async def called(ctx: Any, **given: Any) -> None:
        seen.append(given)

    try:
        node = node_of(weftwork.node("acme.made")(function))
    except TypeError:
        return
    assert node is not None
    spied = msgspec.structs.replace(
        node, function=called, signature=msgspec.structs.replace(node.signature, return_kind="nothing")
    )
    called.__weftwork_node__ = msgspec.structs.replace(  # type: ignore[attr-defined]
        spied, declaration=msgspec.structs.replace(node.declaration, outputs={"type": "object"})
    )
    fits = schema.check_inline(node.declaration.inputs, inputs, "") == []
    outcome = FakeNodeHost().run(called, **inputs)
    if not fits:
        assert isinstance(outcome, Failed)
        assert outcome.code in ("node_input_invalid", "node_input_missing")
        assert seen == []
        return
    assert outcome == Completed({})
    assert seen == [{name: convert(inputs[name], kind) for name, (kind, _) in ports.items() if name in inputs}]
    assert as_json(seen[0]).keys() <= inputs.keys()


@pytest.mark.parametrize("guarded", [True, False])
def test_what_a_node_does_to_its_inputs_stays_in_it(guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not guarded:
        monkeypatch.setattr(node_runner, "convert", lambda value, kind: value)

    @weftwork.node("acme.rude")
    async def rude(ctx: Any, items: list[Any], *, config: dict[str, Any]) -> None:
        items[0]["seen"] = True
        config["inner"].append(1)

    items: list[Any] = [{}]
    config: dict[str, Any] = {"inner": []}
    assert FakeNodeHost().run(rude, items=items, config=config) == Completed({})
    assert ((items, config) == ([{}], {"inner": []})) is guarded


@pytest.mark.parametrize("guarded", [True, False])
def test_a_question_cannot_be_swallowed(guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not guarded:
        monkeypatch.setattr("weftwork.adapters.python.calls.invocation.Invocation.close", lambda self: None)

    @weftwork.node("acme.swallow")
    async def swallow(ctx: weftwork.Context) -> int:
        with contextlib.suppress(BaseException):
            await ctx.interrupt("why")
        return 1

    assert isinstance(FakeNodeHost().run(swallow), Suspended if guarded else Completed)


@pytest.mark.parametrize("guarded", [True, False])
def test_an_output_that_is_not_declared_does_not_get_out(guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not guarded:
        monkeypatch.setattr(node_runner.schema, "check_inline", lambda *_: [])

    @weftwork.node("acme.lie")
    async def lie(ctx: Any) -> int:
        return "text"  # type: ignore[return-value]

    assert isinstance(FakeNodeHost().run(lie), Failed if guarded else Completed)


@pytest.mark.parametrize("guarded", [True, False])
def test_what_no_log_can_hold_does_not_get_out(guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not guarded:
        monkeypatch.setattr(node_runner, "as_json", lambda value: value)

    @weftwork.node("acme.infinite")
    async def infinite(ctx: Any) -> Any:
        return {"a": float("inf")}

    assert isinstance(FakeNodeHost().run(infinite), Failed if guarded else Completed)
