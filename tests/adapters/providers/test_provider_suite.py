"""The suite for providers, run on ours; and providers that break a promise, each found by the suite."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from weftwork.adapters.providers.mock_providers import MockProvider
from weftwork.adapters.providers.script import Script, ScriptedFault, ScriptEntry
from weftwork.adapters.providers.scripted import ScriptedProvider, ScriptPlayer
from weftwork.adapters.system.clock_and_ids import SystemClock
from weftwork.ports.models import AnswerEnd, Delta, ModelProvider, ModelRequest, ProviderFault
from weftwork.protocol.media.message_parts import Modality
from weftwork.protocol.models.answers import TokenUsage
from weftwork.testing import provider as suite


def scripted(entry: ScriptEntry | None = None) -> ModelProvider:
    return ScriptedProvider(SystemClock(), ScriptPlayer(Script(default=entry)))


PROVIDERS: dict[str, Callable[[], ModelProvider]] = {
    "echo": scripted,
    "text": lambda: scripted(ScriptEntry(content="a b c", delay_ms_per_token=1)),
    "silence": lambda: scripted(ScriptEntry(content="")),
    "cut-short": lambda: scripted(ScriptEntry("max_tokens", '{"a')),
    "refusal": lambda: scripted(ScriptEntry("safety", refusal_text="No.")),
    "fault": lambda: scripted(ScriptEntry(content="a b", fault=ScriptedFault("provider_unavailable"))),
    "stream-text": lambda: MockProvider(SystemClock(), "stream-text", {"delayMsPerToken": 1}),
    "tool-calls": lambda: MockProvider(SystemClock(), "tool-calls", {"toolCalls": [{"name": "a", "arguments": {}}]}),
    "error": lambda: MockProvider(SystemClock(), "error", {"failAfterMs": 1}),
    "usage-only": lambda: MockProvider(SystemClock(), "usage-only", {}),
}


@pytest.mark.parametrize("check", suite.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", PROVIDERS)
def test_the_provider_keeps_its_promises(name: str, check: suite.Check) -> None:
    suite.prove(PROVIDERS[name](), suite.question(), check)


def test_every_check_says_its_promise() -> None:
    assert all(check.__doc__ for check in suite.CHECKS)


class Broken:
    """A provider with one fault in it."""

    default_model = "broken-1"

    def __init__(self, said: Callable[[ModelRequest], Any], name: str = "broken", takes: Any = frozenset()) -> None:
        self.said = said
        self.name = name
        self.takes = takes

    def modalities(self, model: str) -> frozenset[Modality]:
        return self.takes

    def generate(self, request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd]:
        return self.said(request)


async def _well(request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd]:
    yield Delta("a")
    yield AnswerEnd("stop")


async def _two_stops(request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd]:
    yield AnswerEnd("stop")
    yield AnswerEnd("stop")


async def _no_stop(request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd]:
    yield Delta("a")


async def _early_last(request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd]:
    yield Delta("a", last=True)
    yield Delta("b", last=True)
    yield AnswerEnd("stop")


async def _odd_reason(request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd]:
    yield AnswerEnd("end_turn")  # type: ignore[arg-type]


async def _odd_usage(request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd]:
    yield AnswerEnd("stop", TokenUsage(-1, 0))


async def _odd_tools(request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd]:
    yield AnswerEnd("tool-call", tool_calls=({"id": "a", "name": "b", "arguments": {}},))


async def _two_models(request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd]:
    yield Delta("a", model="x")
    yield AnswerEnd("stop", model="y")


async def _swallows(request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd]:
    try:
        await asyncio.sleep(0.001)
    except asyncio.CancelledError:
        yield Delta("never mind")
    yield AnswerEnd("stop")


async def _tells(request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd]:
    if request.messages:
        raise ProviderFault("bad_request", f"did not like {request.messages[0].text}")
    yield AnswerEnd("stop")


async def _reads_aloud(request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd]:
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


async def _mixes(request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd]:
    SHARED.append(request)
    await asyncio.sleep(0.001)
    if len(SHARED) == 1:
        yield AnswerEnd("stop")
    SHARED.pop()


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (Broken(_well, "Not A Name"), suite.it_has_a_name_and_a_model),
        (Broken(_two_stops), suite.an_answer_ends_with_one_stop),
        (Broken(_no_stop), suite.an_answer_ends_with_one_stop),
        (Broken(_early_last), suite.pieces_are_texts),
        (Broken(_odd_reason), suite.a_stop_says_why_and_how_much),
        (Broken(_odd_usage), suite.a_stop_says_why_and_how_much),
        (Broken(_odd_tools), suite.tool_calls_have_their_members),
        (Broken(_two_models), suite.the_model_is_the_same_throughout),
        (Broken(_NotClosed), suite.it_can_be_closed_early),
        (Broken(_swallows), suite.it_ends_when_it_is_cancelled),
        (Broken(_mixes), suite.answers_do_not_mix),
        (Broken(_tells), suite.a_fault_says_nothing_of_the_request),
        (Broken(_well, takes=frozenset({"video"})), suite.what_it_takes_it_answers),
        (Broken(_no_stop, takes=frozenset({"image"})), suite.what_it_takes_it_answers),
        (Broken(_reads_aloud, takes=frozenset({"document"})), suite.what_it_takes_it_answers),
    ],
    ids=lambda value: getattr(value, "__name__", None) or value.said.__name__,
)
def test_a_broken_promise_is_found(broken: Any, check: suite.Check) -> None:
    suite.prove(Broken(_well), suite.question(), check)
    with pytest.raises(AssertionError):
        suite.prove(broken, suite.question(), check)


def test_every_check_has_been_shown_to_fail() -> None:
    marks = test_a_broken_promise_is_found.pytestmark  # type: ignore[attr-defined]
    assert {row[1] for row in marks[0].args[1]} == set(suite.CHECKS)
