"""The conformance suite for model providers.

A check is an async function. Its docstring states the guarantee that it verifies. It takes a provider and a request,
which may end with an answer or a fault, and raises an exception if the guarantee is broken. With pytest:

    from weftwork.testing import provider

    @pytest.mark.parametrize("check", provider.CHECKS, ids=lambda check: check.__name__)
    def test_the_provider_keeps_its_promises(check):
        provider.prove(MyProvider(), provider.question("my-model"), check)

Run the suite with one request for each way in which an answer can end: text, a refusal, a truncated answer, a fault.
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
"""A text in the prompt that must not appear in any fault."""
DEADLINE: Final = 60.0
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*")
_CODE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,127}")
_REASONS: Final = frozenset(get_args(StopReason))

Check = Callable[[ModelProvider, ModelRequest], Awaitable[None]]


def question(model: str = "", provider: str = "", **more: Any) -> ModelRequest:
    """A request that any provider can answer. `more` sets further members of ModelRequest."""
    messages = (Message("user", f"Say hello to {CANARY}."),)
    request = ModelRequest(provider, model, messages, f"Be brief. {CANARY}", max_tokens=256, node_id="asks", run_id="r")
    return msgspec.structs.replace(request, **more)


def prove(provider: ModelProvider, request: ModelRequest, check: Check) -> None:
    """Run one check in a new event loop, with a timeout of DEADLINE seconds."""

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
    """The provider has a valid name, and a default model for requests that name none."""
    assert _NAME.fullmatch(provider.name), "a name has lower-case letters and digits, separated by '.', '_' or '-'"
    assert provider.default_model


async def an_answer_ends_with_one_stop(provider: ModelProvider, request: ModelRequest) -> None:
    """An answer ends with exactly one AnswerEnd as its last item. An answer that fails has no AnswerEnd."""
    items, fault = await _collect(provider, request)
    stops = [place for place, item in enumerate(items) if isinstance(item, AnswerEnd)]
    assert stops == ([] if fault else [len(items) - 1])


async def pieces_are_texts(provider: ModelProvider, request: ModelRequest) -> None:
    """Every item is a Delta, a GeneratedMedia or an AnswerEnd. Every Delta has a string, and only the last Delta may be
    marked as the last."""
    items, _ = await _collect(provider, request)
    for item in items:
        text = f"generate yielded {type(item).__name__}; yield Delta, GeneratedMedia or AnswerEnd"
        assert isinstance(item, Delta | GeneratedMedia | AnswerEnd), text
    deltas = [item for item in items if isinstance(item, Delta)]
    assert all(type(delta.text) is str for delta in deltas)
    assert not any(delta.last for delta in deltas[:-1])


async def a_stop_says_why_and_how_much(provider: ModelProvider, request: ModelRequest) -> None:
    """The stop reason is a StopReason, and token counts are non-negative integers."""
    items, fault = await _collect(provider, request)
    if fault is not None:
        return
    stop = items[-1]
    assert isinstance(stop, AnswerEnd)
    assert stop.reason in _REASONS
    counts = (stop.usage.input_tokens, stop.usage.output_tokens)
    assert all(type(count) is int and count >= 0 for count in counts)


async def tool_calls_have_their_members(provider: ModelProvider, request: ModelRequest) -> None:
    """A tool call has exactly the members id, name and arguments, all of them strings."""
    items, _ = await _collect(provider, request)
    calls = [call for item in items if isinstance(item, AnswerEnd) for call in item.tool_calls]
    assert all(set(call) == {"id", "name", "arguments"} for call in calls)
    assert all(isinstance(value, str) for call in calls for value in call.values())


async def the_model_is_the_same_throughout(provider: ModelProvider, request: ModelRequest) -> None:
    """All items of an answer that name a model name the same one."""
    items, _ = await _collect(provider, request)
    text_items = [item for item in items if not isinstance(item, GeneratedMedia)]
    assert len({item.model for item in text_items if item.model}) <= 1


async def it_can_be_closed_early(provider: ModelProvider, request: ModelRequest) -> None:
    """`aclose` before or after the first item ends the answer. The provider can answer again afterwards."""
    for item_count in (0, 1):
        answer = provider.generate(request)
        assert hasattr(answer, "aclose"), "the answer must have aclose, as async generators do"
        async with aclosing(cast("Any", answer)) as open_answer:
            for _ in range(item_count):
                try:
                    await anext(open_answer)
                except ProviderFault:
                    break
        late_items = [item async for item in answer]
        assert late_items == [], "the answer returned items after aclose"
    await an_answer_ends_with_one_stop(provider, request)


async def it_ends_when_it_is_cancelled(provider: ModelProvider, request: ModelRequest) -> None:
    """A cancellation is passed on promptly. It is neither swallowed nor turned into a fault."""
    task = asyncio.create_task(_collect(provider, request))
    await asyncio.sleep(0)
    # A provider that never waits has already finished and cannot be cancelled.
    if task.cancel():
        await asyncio.wait([task])
        assert task.cancelled(), "the cancellation was swallowed or turned into another exception"
    await an_answer_ends_with_one_stop(provider, request)


async def answers_do_not_mix(provider: ModelProvider, request: ModelRequest) -> None:
    """Concurrent requests each get a complete answer."""
    for items, fault in await asyncio.gather(*(_collect(provider, request) for _ in range(4))):
        assert [isinstance(item, AnswerEnd) for item in items].count(True) == (0 if fault else 1)


async def a_fault_says_nothing_of_the_request(provider: ModelProvider, request: ModelRequest) -> None:
    """The code of a fault is a valid name, and neither code nor message contains text of the request, because both are
    sent to clients."""
    _, fault = await _collect(provider, request)
    if fault is not None:
        assert _CODE.fullmatch(fault.code)
        assert fault.message
        assert CANARY not in f"{fault.code}{fault.message}{fault}"


async def what_it_takes_it_answers(provider: ModelProvider, request: ModelRequest) -> None:
    """The modalities of a model are valid, and a request with media of each of them ends like any other. The bytes are
    not real media, so it may end with a fault, which must not contain the bytes."""
    accepted = input_modalities(provider, request.model)
    assert accepted <= set(MODALITIES), "modalities are image, audio and document"
    for modality in sorted(accepted):
        message = Message("user", (ModelTextPart("What is it?"), _part(modality)))
        media_request = msgspec.structs.replace(request, messages=(message,))
        await an_answer_ends_with_one_stop(provider, media_request)
        await a_fault_says_nothing_of_the_request(provider, media_request)


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
