"""The conformance suite of model providers: what every one of them keeps to, whoever answers behind it.

A check is an async function whose docstring is the promise it proves. It takes a provider and a request that the
provider answers or fails, and fails with an exception. With pytest:

    from weftwork.testing import provider

    @pytest.mark.parametrize("check", provider.CHECKS, ids=lambda check: check.__name__)
    def test_the_provider_keeps_its_promises(check):
        provider.prove(MyProvider(), provider.question("my-model"), check)

Give it a request for each way in which an answer can end: a text, a refusal, one that is cut short, a fault.
"""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final, cast, get_args

import msgspec

from weftwork.ports.models import (
    AnswerEnd,
    Delta,
    GeneratedMedia,
    Message,
    ModelMediaPart,
    ModelProvider,
    ModelRequest,
    ModelTextPart,
    ProviderFault,
    input_modalities,
)
from weftwork.protocol.media.message_parts import MODALITIES, Modality
from weftwork.protocol.models.answers import StopReason

CANARY: Final = "Kanarienvogel-4711"
"""Stands in the question, and in no fault."""
DEADLINE: Final = 60.0
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*")
_CODE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,127}")
_REASONS: Final = frozenset(get_args(StopReason))

Check = Callable[[ModelProvider, ModelRequest], Awaitable[None]]


def question(model: str = "", provider: str = "", **more: Any) -> ModelRequest:
    """A request that any provider can answer; `more` are members of ModelRequest."""
    messages = (Message("user", f"Say hello to {CANARY}."),)
    wanted = ModelRequest(provider, model, messages, f"Be brief. {CANARY}", max_tokens=256, node_id="asks", run_id="r")
    return msgspec.structs.replace(wanted, **more)


def prove(provider: ModelProvider, request: ModelRequest, check: Check) -> None:
    """Run one check, in a loop of its own and within a minute."""

    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE):
            await check(provider, request)

    asyncio.run(bounded())


async def _collect(
    provider: ModelProvider, request: ModelRequest
) -> tuple[list[Delta | GeneratedMedia | AnswerEnd], ProviderFault | None]:
    items: list[Delta | GeneratedMedia | AnswerEnd] = []
    try:
        async for item in provider.generate(request):
            items.append(item)
    except ProviderFault as fault:
        return items, fault
    return items, None


async def it_has_a_name_and_a_model(provider: ModelProvider, request: ModelRequest) -> None:
    """The name is one that discovery can show and an option can name, and there is a model for those who name none."""
    assert _NAME.fullmatch(provider.name), "a name is in small letters and digits, with dots or hyphens between"
    assert provider.default_model


async def an_answer_ends_with_one_stop(provider: ModelProvider, request: ModelRequest) -> None:
    """Pieces of text, then one Stop and nothing after it; or a fault, and then no Stop at all."""
    items, fault = await _collect(provider, request)
    stops = [place for place, item in enumerate(items) if isinstance(item, AnswerEnd)]
    assert stops == ([] if fault else [len(items) - 1])


async def pieces_are_texts(provider: ModelProvider, request: ModelRequest) -> None:
    """Each piece is a text, and none but the last is marked as the last."""
    items, _ = await _collect(provider, request)
    deltas = [item for item in items if isinstance(item, Delta)]
    assert all(type(delta.text) is str for delta in deltas)
    assert not any(delta.last for delta in deltas[:-1])


async def a_stop_says_why_and_how_much(provider: ModelProvider, request: ModelRequest) -> None:
    """The reason is of the common vocabulary, and counts of tokens are whole numbers from 0."""
    items, fault = await _collect(provider, request)
    if fault is not None:
        return
    stop = items[-1]
    assert isinstance(stop, AnswerEnd)
    assert stop.reason in _REASONS
    counts = (stop.usage.input_tokens, stop.usage.output_tokens)
    assert all(type(count) is int and count >= 0 for count in counts)


async def tool_calls_have_their_members(provider: ModelProvider, request: ModelRequest) -> None:
    """A tool call has an id, a name and arguments, which are a text."""
    items, _ = await _collect(provider, request)
    calls = [call for item in items if isinstance(item, AnswerEnd) for call in item.tool_calls]
    assert all(set(call) == {"id", "name", "arguments"} for call in calls)
    assert all(isinstance(value, str) for call in calls for value in call.values())


async def the_model_is_the_same_throughout(provider: ModelProvider, request: ModelRequest) -> None:
    """Whoever names the model with each piece names the one that the Stop names."""
    items, _ = await _collect(provider, request)
    said = [item for item in items if not isinstance(item, GeneratedMedia)]
    assert len({item.model for item in said if item.model}) <= 1


async def it_can_be_closed_early(provider: ModelProvider, request: ModelRequest) -> None:
    """`aclose` after the first item, or before it, ends the answer; another one can be had after that."""
    for wanted in (0, 1):
        answer = provider.generate(request)
        assert hasattr(answer, "aclose"), "an answer is closed by aclose, which async generators have"
        async with aclosing(cast("Any", answer)) as open_answer:
            for _ in range(wanted):
                try:
                    await anext(open_answer)
                except ProviderFault:
                    break
        left = [item async for item in answer]
        assert left == [], "something came after the end"
    await an_answer_ends_with_one_stop(provider, request)


async def it_ends_when_it_is_cancelled(provider: ModelProvider, request: ModelRequest) -> None:
    """A cancelled caller is told so, and soon: the cancellation is neither swallowed nor turned into a fault."""
    task = asyncio.create_task(_collect(provider, request))
    await asyncio.sleep(0)
    # One that waits for nothing is done before it can be told.
    if task.cancel():
        await asyncio.wait([task])
        assert task.cancelled(), "a cancellation was swallowed, or turned into something else"
    await an_answer_ends_with_one_stop(provider, request)


async def answers_do_not_mix(provider: ModelProvider, request: ModelRequest) -> None:
    """Several answers at the same time are each whole."""
    for items, fault in await asyncio.gather(*(_collect(provider, request) for _ in range(4))):
        assert [isinstance(item, AnswerEnd) for item in items].count(True) == (0 if fault else 1)


async def a_fault_says_nothing_of_the_request(provider: ModelProvider, request: ModelRequest) -> None:
    """Code and message of a fault go on the wire: the code is a name, and neither holds what was asked."""
    _, fault = await _collect(provider, request)
    if fault is not None:
        assert _CODE.fullmatch(fault.code)
        assert fault.message
        assert CANARY not in f"{fault.code}{fault.message}{fault}"


async def what_it_takes_it_answers(provider: ModelProvider, request: ModelRequest) -> None:
    """What a model is said to take beside text is of the common vocabulary, and a request with it is answered like any
    other. The bytes may be anything: a fault is an answer too, and none repeats them."""
    taken = input_modalities(provider, request.model)
    assert taken <= set(MODALITIES), "modalities are image, audio and document"
    for modality in sorted(taken):
        shown = Message("user", (ModelTextPart("What is it?"), _part(modality)))
        asked = msgspec.structs.replace(request, messages=(shown,))
        await an_answer_ends_with_one_stop(provider, asked)
        await a_fault_says_nothing_of_the_request(provider, asked)


def _part(modality: Modality) -> ModelMediaPart:
    data = CANARY.encode()
    types: dict[Modality, str] = {"image": "image/png", "audio": "audio/mpeg", "document": "application/pdf"}

    async def read() -> bytes:
        return data

    return ModelMediaPart(modality, types[modality], len(data), hashlib.sha256(data).hexdigest(), read)


CHECKS: Final[tuple[Check, ...]] = (
    it_has_a_name_and_a_model,
    an_answer_ends_with_one_stop,
    pieces_are_texts,
    a_stop_says_why_and_how_much,
    tool_calls_have_their_members,
    the_model_is_the_same_throughout,
    it_can_be_closed_early,
    it_ends_when_it_is_cancelled,
    answers_do_not_mix,
    a_fault_says_nothing_of_the_request,
    what_it_takes_it_answers,
)
