"""The scripted provider: what it says, and in which pieces."""

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.providers.provider_calls import collect_answer, generate_text, model_request, run
from tests.harness.definitions import example_count
from weftwork.adapters.providers.script import Script, ScriptEntry, parse_entry
from weftwork.adapters.providers.scripted import ScriptedProvider, estimate_tokens, split_words
from weftwork.conformance.endpoints.model_programs import ScriptedPrograms
from weftwork.ports.models import AnswerEnd, Delta, ProviderFault
from weftwork.protocol.models.answers import TokenUsage
from weftwork.testing import ManualClock


def programmed(*program: Any) -> ScriptedPrograms:
    programs = ScriptedPrograms()
    if program:
        programs.program("", "n", program)
    return programs


def scripted(*program: Any) -> ScriptedProvider:
    return ScriptedProvider(ManualClock(), programmed(*program))


@pytest.mark.rule("model-11")
@pytest.mark.parametrize(
    ("written", "reason", "detail", "refusal", "category"),
    [
        ({}, "stop", "end_turn", None, None),
        ({"stopReason": "stop_sequence"}, "stop", "stop_sequence", None, None),
        ({"stopReason": "max_tokens"}, "length", "max_tokens", None, None),
        ({"stopReason": "length"}, "length", "length", None, None),
        ({"stopReason": "tool_use"}, "tool-call", "tool_use", None, None),
        ({"stopReason": "brownout"}, "other", "brownout", None, None),
        (
            {"stopReason": "safety", "refusalText": "No.", "safetyCategory": "harm"},
            "content-filter",
            "safety",
            "No.",
            "harm",
        ),
        ({"mode": "refusal", "refusalReason": "Never."}, "content-filter", "refusal", "Never.", None),
        ({"mode": "refusal"}, "content-filter", "refusal", None, None),
    ],
)
async def test_the_end_of_an_answer_is_the_programmed_one(
    written: dict[str, Any], reason: str, detail: str, refusal: str | None, category: str | None
) -> None:
    _, stop = await collect_answer(scripted(written), model_request())
    assert (stop.reason, stop.detail, stop.refusal, stop.safety_category) == (reason, detail, refusal, category)


@pytest.mark.rule("model-11")
async def test_an_answer_comes_in_words_and_the_last_is_marked() -> None:
    deltas, stop = await collect_answer(
        scripted({"content": " one two\n three "}), model_request("four bytes each!", system="abcde")
    )
    assert deltas == [Delta(part, part == "\n three ", "scripted-1") for part in (" one", " two", "\n three ")]
    assert stop == AnswerEnd("stop", TokenUsage(6, 4), "scripted-1", "end_turn")


def test_chunks_tokens_and_model_are_as_programmed() -> None:
    entry = {"chunks": ["a", "", "b c"], "inputTokens": 7, "outputTokens": 9, "model": "big"}
    deltas, stop = run(collect_answer(scripted(entry), model_request(model="small")))
    assert [(delta.text, delta.last) for delta in deltas] == [("a", False), ("", False), ("b c", True)]
    assert (stop.usage, stop.model) == (TokenUsage(7, 9), "big")
    assert run(collect_answer(scripted(), model_request(model="small")))[1].model == "small"


async def test_an_envelope_is_answered_as_its_text() -> None:
    said = await generate_text(
        scripted({"mode": "envelope", "envelope": {"type": "error", "payload": {"a": 1}}}), model_request()
    )
    assert msgspec.json.decode(said) == {"type": "error", "payload": {"a": 1}}


@pytest.mark.parametrize(
    "written",
    [
        {"content": "a", "chunks": ["b"]},
        {"content": 1},
        {"contnet": "a"},
        {"delayMsPerToken": 5001},
        {"delayMsPerToken": -1},
        {"inputTokens": -1},
        {"outputTokens": 1.5},
        {"mode": "envelope"},
        {"mode": "song"},
        {"fault": {}},
        ["a"],
        None,
    ],
)
def test_an_entry_that_says_nothing_clear_is_refused_and_changes_nothing(written: Any) -> None:
    programs = ScriptedPrograms()
    programs.program("", "n", ["before"])
    with pytest.raises(msgspec.ValidationError):
        programs.program("", "n", ["first", written])
    assert programs.take(model_request()) == ScriptEntry(content="before")


async def test_a_fault_comes_after_what_was_said() -> None:
    answer = scripted({"content": "half an", "fault": {"code": "provider_unavailable"}}).generate(model_request())
    assert [(await anext(answer)).text, (await anext(answer)).text] == ["half", " an"]  # type: ignore[union-attr]
    with pytest.raises(ProviderFault) as caught:
        await anext(answer)
    assert (caught.value.code, caught.value.retryable) == ("provider_unavailable", True)


@pytest.mark.rule("model-12")
def test_a_used_up_program_leaves_silence_until_the_reset() -> None:
    programs = programmed("one")
    provider = ScriptedProvider(ManualClock(), programs)
    assert run(generate_text(provider, model_request())) == "one"
    for _ in range(2):
        deltas, stop = run(collect_answer(provider, model_request()))
        assert (deltas, stop.reason) == ([], "stop")
    programs.reset()
    assert run(generate_text(provider, model_request())).startswith("(scripted) ")


@pytest.mark.rule("model-11")
async def test_a_call_takes_its_entry_when_it_starts() -> None:
    provider = scripted("one", "two", "three")
    first, second = provider.generate(model_request()), provider.generate(model_request())
    assert await anext(second) == Delta("two", True, "scripted-1")
    assert await anext(first) == Delta("one", True, "scripted-1")
    # The host ended before the answer was recorded; the call is made again.
    await first.aclose()
    assert await generate_text(provider, model_request()) == "three"
    await second.aclose()


async def test_delays_are_those_of_the_clock() -> None:
    clock = ManualClock()
    provider = ScriptedProvider(
        clock, ScriptedPrograms(Script(default=ScriptEntry(content="a b", delay_ms_per_token=5000)))
    )
    task = asyncio.create_task(collect_answer(provider, model_request()))
    for _ in range(2):
        while clock.next_wake is None:
            await asyncio.sleep(0)
        assert not task.done()
        assert clock.next_wake == clock.now() + 5000
        clock.advance(5000)
        await asyncio.sleep(0)
    assert [delta.text for delta in (await task)[0]] == ["a", " b"]


async def test_cancelling_leaves_no_sleeper() -> None:
    clock = ManualClock()
    task = asyncio.create_task(
        collect_answer(
            ScriptedProvider(
                clock, ScriptedPrograms(Script(default=ScriptEntry("end_turn", "a", delay_ms_per_token=9)))
            ),
            model_request(),
        )
    )
    while clock.next_wake is None:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert clock.next_wake is None


@settings(max_examples=example_count(300), deadline=None)
@given(st.text())
def test_pieces_together_are_the_text(text: str) -> None:
    parts = split_words(text)
    assert "".join(parts) == text
    assert all(parts)
    assert len(parts) == max(len(text.split()), bool(text))


@pytest.mark.parametrize(("text", "count"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ä" * 4, 2)])
def test_tokens_are_an_estimate_by_bytes(text: str, count: int) -> None:
    assert estimate_tokens(text) == count


def test_an_entry_may_be_a_plain_text() -> None:
    assert parse_entry("hello") == ScriptEntry(content="hello")
