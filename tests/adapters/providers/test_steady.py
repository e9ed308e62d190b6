"""Repetitions of failed calls, and the circuit breaker, on a manual clock."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest

from tests.adapters.outbound.peer import until
from tests.adapters.providers.openai_server import provider_context, provider_settings
from tests.adapters.providers.provider_calls import model_request
from tests.harness.cases import each_case, fails_without
from weftwork.adapters.providers import steady
from weftwork.adapters.providers.steady import NoAnswerFault, SteadyProvider, TransientFault
from weftwork.ports.models import AnswerEnd, Delta, ModelRequest, ProviderFault
from weftwork.protocol.media.message_parts import Modality
from weftwork.protocol.models import circuit_breaker
from weftwork.protocol.models.circuit_breaker import FAILURES_TO_OPEN
from weftwork.testing import FakeOutbound, ManualClock

DOWN = TransientFault("provider_unavailable", "It is down.")
OK = [Delta("a"), AnswerEnd("stop")]
INVALID = ProviderFault("invalid_request", "No.", retryable=False)


def throttled(milliseconds: int) -> TransientFault:
    return TransientFault("provider_rate_limited", "Slower.", retry_after_ms=milliseconds)


class Flaky:
    """Answers from a list; the last entry stays. A fault is raised, after the items before it."""

    name = "acme"
    default_model = "tiny"

    def __init__(self, *answers: Any) -> None:
        self.answers = [each if isinstance(each, list) else [each] for each in answers]
        self.calls = 0

    def modalities(self, model: str) -> frozenset[Modality]:
        return frozenset({"image"})

    async def generate(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
        self.calls += 1
        for item in self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]:
            if isinstance(item, Exception):
                raise item
            if isinstance(item, asyncio.Event):
                await item.wait()
            else:
                yield item


class Stand:
    """A steady provider on a manual clock that moves to each time that is slept until."""

    def __init__(self, *answers: Any) -> None:
        self.clock = ManualClock()
        self.inner = Flaky(*answers)
        context = provider_context(FakeOutbound(), provider_settings(), self.clock)
        self.provider = SteadyProvider(self.inner, context)
        self.slept: list[int] = []

    async def call(self) -> list[Any] | ProviderFault:
        """The items of an answer, or its fault."""
        task = asyncio.ensure_future(self._collect())
        while not task.done():
            await asyncio.sleep(0)
            if (wake := self.clock.next_wake) is not None:
                self.slept.append(wake - self.clock.now())
                self.clock.advance(self.slept[-1])
        return await task

    async def _collect(self) -> list[Any] | ProviderFault:
        try:
            return [item async for item in self.provider.generate(model_request())]
        except ProviderFault as fault:
            return fault

    async def fault(self) -> ProviderFault:
        fault = await self.call()
        assert isinstance(fault, ProviderFault)
        return fault


@pytest.mark.rule("model-53")
@fails_without(steady, "MAX_REPEATS", 0)
async def test_a_call_that_failed_before_its_first_item_is_repeated() -> None:
    stand = Stand(DOWN, throttled(9_000), OK)
    assert await stand.call() == OK
    assert (stand.inner.calls, stand.slept) == (3, [1_250, 9_000])


@pytest.mark.rule("model-53")
@fails_without(steady, "MAX_REPEATS", 5)
async def test_a_provider_that_is_down_makes_the_node_wait() -> None:
    stand = Stand(DOWN)
    fault = await stand.fault()
    assert (stand.inner.calls, stand.slept) == (3, [1_250, 1_250])
    assert (fault.code, fault.message, fault.retryable, fault.wait_ms) == (DOWN.code, DOWN.message, True, 3_750)
    assert not isinstance(fault, TransientFault)


@pytest.mark.rule("model-53")
@each_case("delay, wait", (10_001, 10_501), (60_000, 63_000))
@fails_without(steady, "MAX_IMMEDIATE_WAIT_MS", 10**9)
async def test_a_longer_retry_after_is_left_to_the_node(delay: int, wait: int) -> None:
    stand = Stand(throttled(delay), OK)
    fault = await stand.fault()
    assert (fault.code, fault.wait_ms, stand.inner.calls, stand.slept) == ("provider_rate_limited", wait, 1, [])


@pytest.mark.rule("model-53")
async def test_a_fault_of_a_provider_that_is_up_is_left_to_the_retries_of_the_node() -> None:
    stand = Stand(TransientFault("provider_unavailable", "Not valid.", is_down=False))
    fault = await stand.fault()
    assert (stand.inner.calls, fault.retryable, fault.wait_ms) == (3, True, None)


@pytest.mark.rule("model-53")
async def test_other_faults_are_not_repeated() -> None:
    stand = Stand(INVALID)
    assert (await stand.call(), stand.inner.calls, stand.slept) == (INVALID, 1, [])


@pytest.mark.rule("model-53")
async def test_a_call_that_has_begun_is_not_repeated() -> None:
    stand = Stand([Delta("a"), DOWN])
    items = stand.provider.generate(model_request())
    assert await anext(items) == Delta("a")
    with pytest.raises(TransientFault) as caught:
        await anext(items)
    assert (stand.inner.calls, caught.value.wait_ms) == (1, None)


@pytest.mark.rule("model-52")
@fails_without(circuit_breaker, "FAILURES_TO_OPEN", 10**9)
async def test_five_failed_calls_open_the_circuit_until_a_probe_succeeds() -> None:
    stand = Stand(DOWN)
    waits = [(await stand.fault()).wait_ms for _ in range(FAILURES_TO_OPEN)]
    assert waits == [3_750, 7_500, 15_000, 30_000, 60_000]
    calls = stand.inner.calls
    refused = await stand.fault()
    assert (refused.code, refused.retryable, refused.wait_ms) == ("provider_unavailable", True, 60_000)
    assert "5 calls" in refused.message
    assert stand.inner.calls == calls
    stand.clock.advance(60_000)
    assert (await stand.fault()).wait_ms == 120_000
    stand.clock.advance(119_999)
    assert (await stand.fault()).wait_ms == 1
    stand.clock.advance(1)
    stand.inner.answers = [OK]
    assert await stand.call() == OK
    stand.inner.answers = [[DOWN]]
    assert (await stand.fault()).wait_ms == 3_750


@pytest.mark.rule("model-52")
@each_case("answer", OK, [INVALID], [Delta("a"), DOWN])
async def test_any_answer_ends_the_series_of_failures(answer: list[Any]) -> None:
    stand = Stand(DOWN)
    for _ in range(FAILURES_TO_OPEN - 1):
        await stand.fault()
    stand.inner.answers = [answer]
    await stand.call()
    stand.inner.answers = [[DOWN]]
    assert (await stand.fault()).wait_ms == 3_750


async def opened() -> Stand:
    stand = Stand(throttled(20_000))
    for _ in range(FAILURES_TO_OPEN):
        await stand.fault()
    stand.clock.advance(60_000)
    return stand


async def cancel(stand: Stand) -> None:
    task = asyncio.ensure_future(anext(stand.provider.generate(model_request())))
    await until(lambda: stand.inner.calls == FAILURES_TO_OPEN + 1, "the probe")
    assert (await stand.fault()).wait_ms == circuit_breaker.PROBE_WAIT_MS
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def crash(stand: Stand) -> None:
    stand.inner.answers = [[ValueError("a bug")]]
    with pytest.raises(ValueError, match="a bug"):
        await anext(stand.provider.generate(model_request()))


@pytest.mark.rule("model-52")
@each_case("end", cancel, crash)
async def test_only_one_probe_is_let_through_and_a_probe_without_result_is_repeated(
    end: Callable[[Stand], Awaitable[None]],
) -> None:
    stand = await opened()
    stand.inner.answers = [[asyncio.Event()]]
    await end(stand)
    stand.inner.answers = [OK]
    assert await stand.call() == OK


def test_the_other_members_are_those_of_the_provider() -> None:
    stand = Stand(OK)
    assert (stand.provider.name, stand.provider.default_model) == ("acme", "tiny")
    assert (stand.provider.models, stand.provider.check) == ((), None)
    assert stand.provider.modalities("x") == {"image"}


@pytest.mark.rule("model-53")
@fails_without(steady, "NoAnswerFault", TransientFault, match="circuit")
async def test_a_fault_without_an_answer_does_not_close_the_circuit() -> None:
    unsent = NoAnswerFault("provider_unavailable", "There is no key.")
    stand = Stand(*[each for _ in range(FAILURES_TO_OPEN - 1) for each in (DOWN, DOWN, DOWN)], unsent, DOWN)
    for _ in range(FAILURES_TO_OPEN - 1):
        await stand.fault()
    assert await stand.call() is unsent
    await stand.fault()
    calls = stand.inner.calls
    await stand.fault()
    assert stand.inner.calls == calls, "the circuit is not open"


async def test_the_log_says_once_that_a_provider_is_down_and_when_it_answers(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "weftwork.models")
    stand = Stand(*[DOWN] * 6, OK)
    assert [type(await stand.call()) for _ in range(3)] == [ProviderFault, ProviderFault, list]
    await stand.call()
    said = [(each.levelname, each.getMessage()) for each in caplog.records]
    assert said == [
        ("WARNING", "model provider is down; nodes wait for it"),
        ("INFO", "model provider answers again"),
    ]
    assert {vars(each)["provider"] for each in caplog.records} == {"acme"}
    assert vars(caplog.records[0])["code"] == DOWN.code
