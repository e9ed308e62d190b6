"""Providers that answer without a model: mocks, samples."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.providers.provider_calls import collect_answer, model_request, run
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import example_count, for_all
from weftwork.adapters.providers import schema_sample as sample_module
from weftwork.adapters.providers.mock_providers import _GENERATORS, MockProvider
from weftwork.adapters.providers.schema_sample import MAX_ITEMS, sample_value
from weftwork.ports.models import AnswerEnd, Delta, ProviderFault
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.caller_schema import check_caller_schema, check_value
from weftwork.protocol.models import selection
from weftwork.protocol.models.answers import TokenUsage
from weftwork.protocol.models.selection import MOCK_CONFIGS, check_mock_config
from weftwork.protocol.workflow.run_options import MOCK_PROVIDERS, check_mock_provider
from weftwork.testing import ManualClock


def mock(name: str, clock: ManualClock | None = None, **config: Any) -> MockProvider:
    check_mock_config(name, config)
    return MockProvider(clock or ManualClock(), name, config)


def test_there_is_a_play_for_each_that_is_offered() -> None:
    assert set(_GENERATORS) == set(MOCK_CONFIGS)
    assert MOCK_PROVIDERS == ("stream-text", "tool-calls", "error", "usage-only")


@pytest.mark.rule("model-13")
def test_a_text_is_streamed_token_by_token() -> None:
    model = "mock-stream-text-v1"
    assert run(collect_answer(mock("stream-text"), model_request())) == (
        [Delta("mock", False, model), Delta(" response", True, model)],
        AnswerEnd("stop", TokenUsage(1, 2), model, "stop"),
    )
    config = {"tokens": ["a", "", "b"], "finishReason": "length", "usage": {"promptTokens": 4}, "model": "m"}
    deltas, stop = run(collect_answer(mock("stream-text", **config), model_request(model="other")))
    assert deltas == [Delta("a", False, "m"), Delta("", False, "m"), Delta("b", True, "m")]
    assert stop == AnswerEnd("length", TokenUsage(4, 3), "m", "length")
    assert run(collect_answer(mock("stream-text", tokens=[]), model_request())) == (
        [],
        AnswerEnd("stop", TokenUsage(1, 0), model, "stop"),
    )


@pytest.mark.rule("model-13")
@each_case(
    "finish, reason",
    ("stop", "stop"),
    ("length", "length"),
    ("tool_calls", "tool-call"),
    ("content_filter", "content-filter"),
)
async def test_a_stream_ends_as_it_is_told(finish: str, reason: str) -> None:
    assert (await collect_answer(mock("stream-text", finishReason=finish), model_request()))[1].reason == reason


@pytest.mark.rule("model-13")
async def test_tools_are_called() -> None:
    calls = [
        {"id": "c", "name": "find", "arguments": '{"q":1}'},
        {"name": "stop", "arguments": {"a": [1]}},
        {"name": "go"},
    ]
    deltas, stop = await collect_answer(mock("tool-calls", toolCalls=calls), model_request())
    assert (deltas, stop.reason, stop.detail, stop.usage) == ([], "tool-call", "tool_calls", TokenUsage(1, 3))
    assert stop.tool_calls == (
        {"id": "c", "name": "find", "arguments": '{"q":1}'},
        {"id": "call-2", "name": "stop", "arguments": '{"a":[1]}'},
        {"id": "call-3", "name": "go", "arguments": "{}"},
    )


@pytest.mark.rule("model-13")
@each_case(
    "config, said",
    ({}, ("provider_unavailable", "The mock provider has failed.", False)),
    ({"code": "rate_limited", "message": "Slowly.", "retryable": True}, ("rate_limited", "Slowly.", True)),
)
async def test_an_error_is_a_fault(config: dict[str, Any], said: tuple[str, str, bool]) -> None:
    with pytest.raises(ProviderFault) as caught:
        await collect_answer(mock("error", **config), model_request())
    assert (caught.value.code, caught.value.message, caught.value.retryable) == said


@pytest.mark.rule("model-13")
def test_usage_alone_has_no_text() -> None:
    usage = {"promptTokens": 3, "completionTokens": 4, "totalTokens": 7}
    assert run(collect_answer(mock("usage-only", usage=usage), model_request()))[1].usage == TokenUsage(3, 4)
    assert run(collect_answer(mock("usage-only"), model_request())) == (
        [],
        AnswerEnd("stop", TokenUsage(1, 0), "mock-usage-only-v1", "stop"),
    )


@pytest.mark.rule("model-13")
@each_case(
    "name, config, waits",
    ("stream-text", {"tokens": ["a", "b", "c"], "delayMsPerToken": 5000}, [5000] * 3),
    ("tool-calls", {"toolCalls": [{"name": "a"}, {"name": "b"}], "delayMsPerToken": 7}, [7] * 2),
    ("error", {"failAfterMs": 30}, [30]),
    ("stream-text", {"tokens": ["a"]}, []),
)
async def test_delays_are_those_of_the_clock(name: str, config: dict[str, Any], waits: list[int]) -> None:
    clock = ManualClock()
    task = asyncio.create_task(collect_answer(mock(name, clock, **config), model_request()))
    seen: list[int] = []
    while not task.done():
        if clock.next_wake is not None:
            seen.append(clock.next_wake - clock.now())
            clock.advance(seen[-1])
        await asyncio.sleep(0)
    assert seen == waits
    assert isinstance(task.exception(), ProviderFault) == (name == "error")


@pytest.mark.rule("model-16")
@each_case(
    "name, config, pointer",
    ("stream-text", {"tokens": "ab"}, "/tokens"),
    ("stream-text", {"tokens": ["a", 1]}, "/tokens/1"),
    ("stream-text", {"delayMsPerToken": 5001}, "/delayMsPerToken"),
    ("stream-text", {"delayMsPerToken": -1}, "/delayMsPerToken"),
    ("stream-text", {"delayMsPerToken": 1.5}, "/delayMsPerToken"),
    ("stream-text", {"finishReason": "bored"}, "/finishReason"),
    ("stream-text", {"usage": {"promptTokens": -1}}, "/usage/promptTokens"),
    ("stream-text", {"model": ""}, "/model"),
    ("tool-calls", {"toolCalls": [{}]}, "/toolCalls/0"),
    ("tool-calls", {"toolCalls": [{"name": "a", "arguments": 1}]}, "/toolCalls/0/arguments"),
    ("error", {"code": "Ümlaut"}, "/code"),
    ("error", {"message": ""}, "/message"),
    ("error", {"retryable": "yes"}, "/retryable"),
    ("error", {"failAfterMs": 5001}, "/failAfterMs"),
    ("usage-only", {"usage": 1}, "/usage"),
)
@fails_without(selection, "MOCK_CONFIGS", {key: {} for key in MOCK_CONFIGS}, match="DID NOT RAISE")
def test_a_config_that_cannot_be_played_is_refused(name: str, config: dict[str, Any], pointer: str) -> None:
    with pytest.raises(ClientFault) as caught:
        check_mock_provider({"mockProvider": {"id": name, "config": config}}, "test")
    assert caught.value.code == "validation_error"
    assert (caught.value.details or {})["pointer"] == f"/configurable/mockProvider/config{pointer}"
    assert "Ümlaut" not in repr(caught.value.details)


@pytest.mark.rule("model-16")
@each_case("name", *MOCK_PROVIDERS)
def test_a_config_may_be_left_out_and_may_hold_more(name: str) -> None:
    check_mock_provider({"mockProvider": {"id": name}}, "test")
    check_mock_provider({"mockProvider": {"id": name, "config": {"x-more": 1, "delayMsPerToken": 5.0}}}, "test")


LEAVES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(lambda least: {"type": "string", "minLength": least}, st.integers(0, 20)),
    st.builds(lambda most: {"type": "string", "maxLength": most}, st.integers(0, 20)),
    st.builds(lambda least: {"type": "integer", "minimum": least}, st.integers(-9, 9)),
    st.builds(lambda least: {"type": "integer", "exclusiveMinimum": least}, st.integers(-9, 9)),
    st.builds(lambda most: {"type": "integer", "maximum": most}, st.integers(-9, 9)),
    st.builds(lambda least: {"type": "number", "exclusiveMinimum": least}, st.floats(-9, 9)),
    st.builds(lambda least: {"type": ["null", "number"], "minimum": least}, st.floats(-9, 9)),
    st.builds(
        lambda options: {"enum": options}, st.lists(st.integers() | st.text(), min_size=1, max_size=3, unique=True)
    ),
    st.builds(lambda value: {"const": value}, st.none() | st.booleans() | st.text()),
    st.sampled_from([{"type": "boolean"}, {"type": "null"}, {}, {"$ref": "#/$defs/Word"}]),
)


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    members = st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
    return members.flatmap(
        lambda given: st.builds(
            lambda names: {"type": "object", "properties": given, "required": names, "additionalProperties": False},
            st.lists(st.sampled_from(sorted(given)), unique=True) if given else st.just([]),
        )
    )


SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        objects(inner),
        st.builds(lambda items, least: {"type": "array", "items": items, "minItems": least}, inner, st.integers(0, 3)),
        st.builds(lambda first: {"anyOf": [first, {"type": "boolean"}]}, inner),
        st.builds(lambda first: {"allOf": [first]}, inner),
    ),
    max_leaves=8,
)


@for_all(150, SCHEMAS, full=6_000)
def test_a_sample_fits_its_schema_and_is_the_same_again(schema: dict[str, Any]) -> None:
    whole = {**schema, "$defs": {"Word": {"type": "string", "minLength": 3}}}
    if not check_caller_schema(whole, ""):
        assert check_value(whole, sample_value(whole), "") == []
        assert sample_value(whole) == sample_value(whole)


@each_case(
    "schema, value",
    ({"default": [1], "type": "string"}, [1]),
    ({"examples": ["x", "y"]}, "x"),
    ({"type": "string", "format": "date-time"}, "2026-01-01T00:00:00Z"),
    ({"required": ["a"]}, {"a": "scripted"}),
    (
        {"type": "array", "prefixItems": [{"type": "boolean"}], "items": {"type": "integer"}, "minItems": 2},
        [True, 0],
    ),
    (
        {"allOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"required": ["b"]}], "required": ["c"]},
        {"a": 1, "b": "scripted", "c": "scripted"},
    ),
    ({"$ref": "#/$defs/gone"}, "scripted"),
)
def test_a_sample_takes_what_the_schema_names(schema: dict[str, Any], value: Any) -> None:
    assert sample_value(schema) == value


def test_a_schema_cannot_make_a_sample_grow() -> None:
    deep: dict[str, Any] = {"type": "array", "minItems": 10**9, "items": {"$ref": "#"}}
    assert len(sample_value(deep)) == MAX_ITEMS
    assert len(sample_value({"type": "string", "minLength": 10**9})) == sample_module.MAX_LENGTH
    round_and_round = {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}
    assert sample_value(round_and_round) == "scripted"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from("type properties required anyOf items minItems minimum enum $ref format".split()),
                x,
            )
        ),
    )
)
@settings(max_examples=example_count(100, full=4_000), deadline=None)
def test_what_is_no_schema_does_no_harm(written: Any) -> None:
    sample_value({"type": "object", "required": ["a"], "properties": {"a": written}})
