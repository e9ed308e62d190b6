"""The suite for providers, the registry, and which model a request goes to."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.providers.openai_server import (
    HELLO,
    chunk,
    event_stream,
    fake_provider,
    provider_context,
    provider_settings,
    sse,
)
from tests.adapters.providers.provider_calls import generate_text, model_request, run
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import example_count
from weftwork.adapters.providers.configured import ConfiguredProvider
from weftwork.adapters.providers.mock_providers import MockProvider
from weftwork.adapters.providers.openai_compatible.provider import openai_compatible_provider
from weftwork.adapters.providers.registry import MOCK_MODEL, MOCK_PROVIDER, ProviderRegistry
from weftwork.adapters.providers.script import Script, ScriptedFault, ScriptEntry
from weftwork.adapters.providers.scripted import ScriptedProvider, ScriptPlayer
from weftwork.adapters.system.clock_and_ids import SystemClock
from weftwork.conformance.endpoints.model_programs import ScriptedPrograms
from weftwork.ports.models import AnswerEnd, Delta, ModelProvider, ModelRequest, ProviderFault
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.media.message_parts import Modality
from weftwork.protocol.models import selection
from weftwork.protocol.models.answers import TokenUsage
from weftwork.protocol.models.model_catalogue import ModelInfo
from weftwork.protocol.models.provider_settings import ProviderSettings
from weftwork.protocol.models.selection import ModelSelection, check_selection, select_model
from weftwork.testing import FakeOutbound, ManualClock, respond
from weftwork.testing import provider as suite


def scripted(entry: ScriptEntry | None = None) -> ModelProvider:
    return ScriptedProvider(SystemClock(), ScriptPlayer(Script(default=entry)))


def configured() -> ModelProvider:
    settings = ProviderSettings("scripted", "scripted", models=(ModelInfo("tiny"),))
    return ConfiguredProvider(scripted(), settings)


def steady_provider(answer: Any) -> ModelProvider:
    return openai_compatible_provider(provider_context(FakeOutbound(lambda request: answer), provider_settings()))


TOOL_CALL = chunk(tool_calls=[{"index": 0, "function": {"name": "f", "arguments": "{"}}])

PROVIDERS: dict[str, Callable[[], ModelProvider]] = {
    "echo": scripted,
    "configured": configured,
    "text": lambda: scripted(ScriptEntry(content="a b c", delay_ms_per_token=1)),
    "silence": lambda: scripted(ScriptEntry(content="")),
    "cut-short": lambda: scripted(ScriptEntry("max_tokens", '{"a')),
    "refusal": lambda: scripted(ScriptEntry("safety", refusal_text="No.")),
    "fault": lambda: scripted(ScriptEntry(content="a b", fault=ScriptedFault("provider_unavailable"))),
    "stream-text": lambda: MockProvider(SystemClock(), "stream-text", {"delayMsPerToken": 1}),
    "tool-calls": lambda: MockProvider(SystemClock(), "tool-calls", {"toolCalls": [{"name": "a", "arguments": {}}]}),
    "error": lambda: MockProvider(SystemClock(), "error", {"failAfterMs": 1}),
    "usage-only": lambda: MockProvider(SystemClock(), "usage-only", {}),
    "openai-text": lambda: fake_provider(event_stream(HELLO)),
    "openai-tools": lambda: fake_provider(event_stream(sse(TOOL_CALL, chunk(finish="stop")))),
    "openai-refusal": lambda: fake_provider(event_stream(sse(chunk(refusal="No."), chunk(finish="stop")))),
    "openai-cut": lambda: fake_provider(event_stream(sse(chunk("a"), done=False))),
    "openai-fault": lambda: fake_provider(respond(400, json={"error": {"message": suite.CANARY}})),
    "steady": lambda: steady_provider(event_stream(HELLO)),
    "steady-down": lambda: steady_provider(respond(429, headers={"retry-after": "60"})),
}


@each_case("check", *suite.CHECKS, ids=lambda check: check.__name__)
@each_case("name", *PROVIDERS)
def test_the_provider_keeps_its_promises(name: str, check: suite.Check) -> None:
    suite.prove(PROVIDERS[name](), suite.question(), check)


def test_every_check_says_its_promise_and_has_been_shown_to_fail() -> None:
    assert {check for _, check in BROKEN} == set(suite.CHECKS)
    assert all(check.__doc__ for check in suite.CHECKS)


Answer = AsyncGenerator[Delta | AnswerEnd]


class Broken:
    """A provider with one fault in it."""

    default_model = "broken-1"

    def __init__(self, said: Callable[[ModelRequest], Any] | str, name: str = "broken", takes: Any = ()) -> None:
        self.said = said
        self.name = name
        self.takes = frozenset(takes)

    def __repr__(self) -> str:
        return self.said if isinstance(self.said, str) else self.said.__name__

    def modalities(self, model: str) -> frozenset[Modality]:
        return self.takes

    def generate(self, request: ModelRequest) -> Answer:
        return self._told(SAID[self.said]) if isinstance(self.said, str) else self.said(request)

    async def _told(self, items: list[Delta | AnswerEnd]) -> Answer:
        for item in items:
            yield item


STOP = AnswerEnd("stop")
ODD: Any = "end_turn"
SAID: dict[str, list[Delta | AnswerEnd]] = {
    "well": [Delta("a"), STOP],
    "two stops": [STOP, STOP],
    "no stop": [Delta("a")],
    "early last": [Delta("a", last=True), Delta("b", last=True), STOP],
    "odd reason": [AnswerEnd(ODD)],
    "odd usage": [AnswerEnd("stop", TokenUsage(-1, 0))],
    "odd tools": [AnswerEnd("tool-call", tool_calls=({"id": "a", "name": "b", "arguments": {}},))],
    "two models": [Delta("a", model="x"), AnswerEnd("stop", model="y")],
}


async def _swallows(request: ModelRequest) -> Answer:
    try:
        await asyncio.sleep(0.001)
    except asyncio.CancelledError:
        yield Delta("never mind")
    yield AnswerEnd("stop")


async def _tells(request: ModelRequest) -> Answer:
    if request.messages:
        raise ProviderFault("bad_request", f"did not like {request.messages[0].text}")
    yield AnswerEnd("stop")


async def _reads_aloud(request: ModelRequest) -> Answer:
    for message in request.messages:
        for part in message.media:
            raise ProviderFault("bad_request", f"did not like {await part.read()!r}")
    yield AnswerEnd("stop")


class _NotClosed:
    """An iterator and no generator: nobody can close it."""

    def __init__(self, request: ModelRequest) -> None:
        self._items = iter([Delta("a"), AnswerEnd("stop")])

    def __aiter__(self) -> "_NotClosed":
        return self

    async def __anext__(self) -> Delta | AnswerEnd:
        try:
            return next(self._items)
        except StopIteration:
            raise StopAsyncIteration from None


SHARED: list[Any] = []


async def _bare_texts(request: ModelRequest) -> AsyncGenerator[Any]:
    yield "a"
    yield AnswerEnd("stop")


async def _mixes(request: ModelRequest) -> Answer:
    SHARED.append(request)
    await asyncio.sleep(0.001)
    if len(SHARED) == 1:
        yield AnswerEnd("stop")
    SHARED.pop()


BROKEN: list[tuple[Any, suite.Check]] = [
    (Broken("well", "Not A Name"), suite.it_has_a_name_and_a_model),
    (Broken("two stops"), suite.an_answer_ends_with_one_stop),
    (Broken("no stop"), suite.an_answer_ends_with_one_stop),
    (Broken("early last"), suite.pieces_are_texts),
    (Broken(_bare_texts), suite.pieces_are_texts),
    (Broken("odd reason"), suite.a_stop_says_why_and_how_much),
    (Broken("odd usage"), suite.a_stop_says_why_and_how_much),
    (Broken("odd tools"), suite.tool_calls_have_their_members),
    (Broken("two models"), suite.the_model_is_the_same_throughout),
    (Broken(_NotClosed), suite.it_can_be_closed_early),
    (Broken(_swallows), suite.it_ends_when_it_is_cancelled),
    (Broken(_mixes), suite.answers_do_not_mix),
    (Broken(_tells), suite.a_fault_says_nothing_of_the_request),
    (Broken("well", takes={"video"}), suite.what_it_takes_it_answers),
    (Broken("no stop", takes={"image"}), suite.what_it_takes_it_answers),
    (Broken(_reads_aloud, takes={"document"}), suite.what_it_takes_it_answers),
]


@each_case("broken, check", *BROKEN, ids=lambda value: getattr(value, "__name__", None) or repr(value))
def test_a_broken_promise_is_found(broken: Any, check: suite.Check) -> None:
    suite.prove(Broken("well"), suite.question(), check)
    with pytest.raises(AssertionError):
        suite.prove(broken, suite.question(), check)


def registry(programs: ScriptedPrograms | None = None) -> ProviderRegistry:
    clock = ManualClock()
    mock = ScriptedProvider(clock, programs, MOCK_PROVIDER, MOCK_MODEL)
    return ProviderRegistry(clock, [ScriptedProvider(clock, programs), mock])


@pytest.mark.rule("model-15")
def test_a_request_goes_to_whom_it_names() -> None:
    programs = ScriptedPrograms()
    models = registry(programs)
    assert models.find(model_request()).name == "scripted"
    assert models.find(model_request(provider="scripted")).default_model == "scripted-1"
    mock = models.find(model_request(provider="mock"))
    assert (mock.name, mock.default_model) == ("mock", "mock-mini")
    programs.program("", "n", ["one", "two"])
    assert run(generate_text(mock, model_request())) == "one"
    assert run(generate_text(models.find(model_request()), model_request())) == "two"


@pytest.mark.rule("model-15")
def test_the_mock_of_a_run_comes_before_any_provider() -> None:
    models = registry()
    for provider in ("", "scripted", "gone"):
        found = models.find(model_request(provider=provider, mock={"id": "stream-text", "config": {"tokens": ["x"]}}))
        assert found.name == "stream-text"
        assert run(generate_text(found, model_request())) == "x"
    assert models.find(model_request(mock={"id": "error"})).default_model == "mock-error-v1"


@pytest.mark.rule("model-15")
@each_case(
    "request_members, hint",
    ({"provider": "acme"}, "it has scripted, mock."),
    ({"provider": "scriptd"}, "did you mean scripted?"),
    ({"mock": {"id": "acme"}}, "there are stream-text, tool-calls, error, usage-only."),
)
def test_what_is_not_offered_is_a_fault(request_members: dict[str, Any], hint: str) -> None:
    with pytest.raises(ProviderFault) as caught:
        registry().find(model_request(**request_members))
    assert (caught.value.code, caught.value.retryable) == ("provider_not_supported", False)
    assert caught.value.message.endswith(hint)
    assert "acme" not in caught.value.message


NODE = {"provider": "acme", "model": "acme-1", "temperature": 0.5, "maxTokens": 50}


@pytest.mark.rule("model-17")
@each_case(
    "configurable, config, choice",
    ({}, {}, ModelSelection()),
    ({}, NODE, ModelSelection("acme", "acme-1", 0.5, 50)),
    ({"model": "m", "temperature": 0, "maxTokens": 9.0}, NODE, ModelSelection("acme", "m", 0, 9)),
    ({"ai.model": "a", "model": "m"}, NODE, ModelSelection("acme", "a", 0.5, 50)),
    ({"ai": {"model": "a"}, "model": "m"}, {}, ModelSelection("", "a")),
    ({"ai.provider": "other"}, NODE, ModelSelection("other", "", 0.5, 50)),
    ({"ai": {"provider": "other", "model": "o"}}, NODE, ModelSelection("other", "o", 0.5, 50)),
    ({"ai.provider": "acme"}, NODE, ModelSelection("acme", "acme-1", 0.5, 50)),
    ({"ai.provider": "other"}, {"model": "acme-1"}, ModelSelection("other")),
)
def test_the_run_wins_over_the_node(
    configurable: dict[str, Any], config: dict[str, Any], choice: ModelSelection
) -> None:
    assert select_model(configurable, config) == choice


@pytest.mark.rule("model-17")
@settings(max_examples=example_count(50, full=2_000), deadline=None)
@given(
    st.fixed_dictionaries({}, optional={"provider": st.sampled_from("ab"), "model": st.sampled_from("mn")}),
    st.fixed_dictionaries({}, optional={"provider": st.sampled_from("ab"), "model": st.sampled_from("mn")}),
)
def test_both_spellings_choose_the_same(asked: dict[str, str], config: dict[str, str]) -> None:
    flat = {f"ai.{name}": value for name, value in asked.items()}
    assert (
        select_model(flat, config) == select_model({"ai": asked}, config) == select_model({**flat, "ai": asked}, config)
    )
    assert select_model(flat, config).provider == asked.get("provider", config.get("provider", ""))


@pytest.mark.rule("model-18")
@each_case(
    "configurable, pointer",
    ({"ai.provider": "gone"}, "/configurable/ai.provider"),
    ({"ai": {"provider": "gone"}}, "/configurable/ai/provider"),
    ({"ai": {"provider": "mock"}, "ai.provider": "scripted"}, "/configurable/ai.provider"),
    ({"ai.provider": 1}, "/configurable/ai.provider"),
    ({"ai": {"model": ""}}, "/configurable/ai/model"),
    ({"ai.model": "x" * 257}, "/configurable/ai.model"),
    ({"ai.model": None}, "/configurable/ai.model"),
    ({"ai": []}, "/configurable/ai"),
    ({"ai.credentialRef": {}}, "/configurable/ai.credentialRef"),
)
def test_what_is_not_offered_is_refused_and_pointed_at(configurable: dict[str, Any], pointer: str) -> None:
    with pytest.raises(ClientFault) as caught:
        check_selection(configurable, ("scripted", "mock"))
    assert (caught.value.code, caught.value.details) == ("validation_error", {"pointer": pointer})


@pytest.mark.rule("model-18")
@each_case(
    "configurable",
    {},
    {"ai.provider": "scripted"},
    {"ai": {"provider": "mock", "model": "m", "more": 1}},
    {"ai": {"provider": "mock"}, "ai.provider": "mock"},
    {"acme.provider": "gone", "aiProvider": 1},
)
def test_what_is_offered_may_be_asked_for(configurable: dict[str, Any]) -> None:
    check_selection(configurable, ("scripted", "mock"))


@pytest.mark.rule("model-18")
@each_case(
    "configurable, details",
    ({"ai.credentialRef": "cred-1"}, None),
    ({"ai": {"credentialRef": "cred-1", "provider": "mock"}}, {"provider": "mock"}),
)
@fails_without(selection, "_ai_option", lambda *_: None, match="DID NOT RAISE")
def test_a_credential_is_for_those_that_take_one(configurable: dict[str, Any], details: Any) -> None:
    with pytest.raises(ClientFault) as caught:
        check_selection(configurable, ("mock",))
    assert (caught.value.code, caught.value.status, caught.value.details) == ("credential_forbidden", 403, details)
    assert "cred-1" not in str(caught.value)
    if details:
        check_selection(configurable, ("mock",), byok=("mock",))


def test_a_budget_is_a_number_that_every_reader_takes() -> None:
    assert select_model({"maxTokens": 1e308}, {}).max_tokens == selection.MAX_TOKENS
