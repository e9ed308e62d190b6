"""The scripted provider: what it says, and in which pieces."""

import asyncio
import base64
import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from tests.adapters.providers.provider_calls import collect_answer, generate_text, model_request, run
from tests.harness.cases import each_case
from tests.harness.definitions import for_all
from weftwork.adapters.providers.mock_providers import MockProvider
from weftwork.adapters.providers.registry import ProviderRegistry
from weftwork.adapters.providers.script import Script, ScriptEntry, ScriptError, parse_entry, read_script
from weftwork.adapters.providers.scripted import ScriptedProvider, ScriptPlayer, estimate_tokens, split_words
from weftwork.conformance.endpoints.model_programs import ScriptedPrograms, SeenMedia
from weftwork.ports.models import (
    AnswerEnd,
    Delta,
    GeneratedMedia,
    Message,
    ModelMediaPart,
    ModelRequest,
    ModelTextPart,
    ProviderFault,
)
from weftwork.protocol.media.message_parts import MODALITIES
from weftwork.protocol.models.answers import TokenUsage
from weftwork.protocol.models.selection import MOCK_CONFIGS
from weftwork.settings import Settings, SettingsError
from weftwork.testing import ManualClock
from weftwork.wiring.models import build_models


def programmed(*program: Any) -> ScriptedPrograms:
    programs = ScriptedPrograms()
    if program:
        programs.program("", "n", program)
    return programs


def scripted(*program: Any) -> ScriptedProvider:
    return ScriptedProvider(ManualClock(), programmed(*program))


@pytest.mark.rule("model-11")
@each_case(
    "written, reason, detail, refusal, category",
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


@each_case(
    "written",
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


async def test_delays_are_those_of_the_clock_and_cancelling_leaves_no_sleeper() -> None:
    clock = ManualClock()
    entry = ScriptEntry(content="a b", delay_ms_per_token=5000)
    provider = ScriptedProvider(clock, ScriptedPrograms(Script(default=entry)))

    async def sleeps() -> None:
        while clock.next_wake is None:
            await asyncio.sleep(0)

    task = asyncio.create_task(collect_answer(provider, model_request()))
    for _ in range(2):
        await sleeps()
        assert not task.done()
        assert clock.next_wake == clock.now() + 5000
        clock.advance(5000)
        await asyncio.sleep(0)
    assert [delta.text for delta in (await task)[0]] == ["a", " b"]
    task = asyncio.create_task(collect_answer(provider, model_request()))
    await sleeps()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert clock.next_wake is None


@for_all(150, st.text(), full=6_000)
def test_pieces_together_are_the_text(text: str) -> None:
    parts = split_words(text)
    assert "".join(parts) == text
    assert all(parts)
    assert len(parts) == max(len(text.split()), bool(text))


def test_tokens_are_an_estimate_by_bytes_and_a_plain_text_is_an_entry() -> None:
    assert [estimate_tokens(text) for text in ("", "a", "abcd", "abcde", "ä" * 4)] == [0, 1, 1, 2, 2]
    assert parse_entry("hello") == ScriptEntry(content="hello")


JSON = '{"default": "Nothing to add.", "nodes": {"n": ["one", {"content": "two", "stopReason": "length"}]}}'
TOML = 'default = "Nothing to add."\n[nodes]\nn = ["one", {content = "two", stopReason = "length"}]\n'


@pytest.mark.parametrize(("name", "text"), [("a.json", JSON), ("a.toml", TOML), ("script", JSON)])
async def test_a_list_of_a_node_begins_anew_in_every_run_and_at_its_end(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    provider = ScriptedProvider(ManualClock(), ScriptPlayer(read_script(tmp_path / name)))

    async def said(run_id: str, node: str = "n", partition: str = "") -> str:
        return await generate_text(provider, model_request(node=node, run_id=run_id, partition=partition))

    assert [await said("r1"), await said("r1"), await said("r2"), await said("r1")] == ["one", "two", "one", "one"]
    assert await said("r2", partition="other") == "one"
    assert await said("r1", "other") == "Nothing to add."
    models = build_models(Settings(model_script=str(tmp_path / name)), ManualClock()).registry
    assert await generate_text(models.find(model_request()), model_request()) == "one"


@each_case(
    "text, reason",
    ("{", "not valid JSON"),
    ('{"nodes": {"n": "one"}}', "the node 'n': must be a list of answers"),
    ('{"nodes": {"m": ["x"], "n": ["x", {"contnet": "one"}]}}', "the node 'n', answer 2: .*contnet"),
    ('{"nodes": []}', "nodes"),
    ('{"default": {"contnet": "one"}}', "`default`: .*contnet"),
    ('{"nods": {}}', "nods"),
    ('{"default": 1}', "Expected"),
    ('{"default": "a", "default": "b"}', "repeats"),
    ("[]", "Expected `object`"),
    ('{"modalities": ["video"]}', "modalities"),
    ('{"modalities": 1}', "modalities"),
    ('{"models": {"x": "image"}}', "models"),
)
def test_a_script_that_cannot_be_used_is_named(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "script.json"
    file.write_text(text)
    with pytest.raises(ScriptError, match=reason) as caught:
        read_script(file)
    assert str(file) in str(caught.value)
    with pytest.raises(SettingsError, match="--model-script "):
        build_models(Settings(model_script=str(file)), ManualClock())


def test_a_script_that_is_not_there_or_no_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r"cannot read .*none.json: No such file"):
        read_script(tmp_path / "none.json")
    (tmp_path / "a.yaml").write_text("nodes:")
    with pytest.raises(ScriptError, match=r"a.yaml: .*not valid JSON.* ends with .toml"):
        read_script(tmp_path / "a.yaml")
    (tmp_path / "a.toml").write_text("a =")
    (tmp_path / "b.toml").write_bytes(b"\xff")
    for name in ("a.toml", "b.toml"):
        with pytest.raises(ScriptError, match="not valid TOML"):
            read_script(tmp_path / name)


@pytest.mark.rule("model-14")
def test_without_a_script_an_answer_says_what_it_is_and_what_was_said_and_shown() -> None:
    provider = ScriptedProvider(ManualClock())
    told = "(scripted) No model is connected to this host."
    assert run(generate_text(provider, model_request(" What\n is  it? "))) == f"{told} You said: What is it?"
    assert run(generate_text(provider, ModelRequest("", "", ()))) == told
    assert run(generate_text(provider, model_request("x" * 500))) == f"{told} You said: {'x' * 200} ..."
    last = (Message("user", "first"), Message("user", "second"), Message("assistant", "third"))
    assert run(generate_text(provider, ModelRequest("", "", last))) == f"{told} You said: second"
    assert Script({"n": ()}).entry_for(model_request("hey"), 0).text.endswith("You said: hey")
    for texts, said in ((("What is it?",), "You said: What is it? "), ((), "")):
        assert run(generate_text(provider, showing(*texts)[0])) == f"{told} {said}You showed: image/png (7 bytes)."


@pytest.mark.rule("model-14")
async def test_without_a_script_a_wanted_schema_is_met() -> None:
    schema = {"type": "object", "required": ["valid"], "properties": {"valid": {"type": "boolean"}}}
    said = await generate_text(ScriptedProvider(ManualClock()), model_request(response_schema=schema))
    assert msgspec.json.decode(said) == {"valid": True}


ALL = frozenset(MODALITIES)
PICTURE = b"picture"
SHA = hashlib.sha256(PICTURE).hexdigest()


class Read:
    """Bytes that count how often they are read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.times = 0

    async def __call__(self) -> bytes:
        self.times += 1
        return self.data


def showing(*texts: str, node: str = "ask") -> tuple[ModelRequest, Read]:
    read = Read(PICTURE)
    part = ModelMediaPart("image", "image/png", len(PICTURE), SHA, read)
    message = Message("user", (*(ModelTextPart(text) for text in texts), part))
    return ModelRequest("", "", (message,), node_id=node, run_id="r", partition="live:acme"), read


@pytest.mark.rule("media-42")
def test_a_script_narrows_what_is_taken(tmp_path: Path) -> None:
    assert ScriptedProvider(ManualClock()).modalities("") == ALL
    narrow = (
        'modalities = ["image", "document"]\n[models]\nblind = []\nears = ["audio", "image"]\n"scripted-1" = ["image"]'
    )
    (tmp_path / "script.toml").write_text(narrow)
    models = build_models(Settings(model_script=str(tmp_path / "script.toml")), ManualClock()).registry
    provider = models.find(model_request())
    assert provider.modalities("other") == {"image", "document"}
    assert provider.modalities("blind") == frozenset()
    # No model takes more than all of them.
    assert provider.modalities("ears") == {"image"}
    assert provider.modalities("") == {"image"}
    assert models.input_modalities == {"image"}


@pytest.mark.rule("media-42")
def test_what_a_host_takes_is_what_any_provider_takes() -> None:
    class Silent:
        """Written before there were modalities."""

        name = "silent"
        default_model = "silent-1"

        def generate(self, request: ModelRequest) -> Any:
            raise NotImplementedError

    class Ears(Silent):
        name = "ears"

        def modalities(self, model: str) -> Any:
            return {"audio"}

    silent: Any = Silent()
    assert ProviderRegistry(ManualClock(), [silent]).input_modalities == frozenset()
    assert ProviderRegistry(ManualClock(), [silent, Ears()]).input_modalities == {"audio"}
    assert ProviderRegistry(ManualClock(), []).input_modalities == frozenset()


@each_case("name", *MOCK_CONFIGS)
def test_mocks_take_text_alone(name: str) -> None:
    assert MockProvider(ManualClock(), name, {}).modalities("") == frozenset()


@pytest.mark.rule("media-48")
def test_a_script_can_say_what_it_was_shown() -> None:
    programs = ScriptedPrograms()
    said = "{media.count}: {media[0].modality} {media[0].mediaType} {media[0].bytes} {media[0].sha256} {media[1].bytes}"
    chunks = {"chunks": ["{media[0].bytes}", " bytes"]}
    programs.program("live:acme", "ask", [said, chunks, "no places {media[0].name}"])
    provider = ScriptedProvider(ManualClock(), programs)
    request, read = showing("?")
    assert run(generate_text(provider, request)) == f"1: image image/png 7 {SHA} {{media[1].bytes}}"
    assert run(generate_text(provider, request)) == "7 bytes"
    assert read.times == 2
    assert run(generate_text(provider, request)) == "no places {media[0].name}"
    assert read.times == 2
    assert programs.last_media("live:acme", "ask") == (SeenMedia("image", "image/png", 7, SHA, None),)
    assert programs.last_media("live:other", "ask") == ()
    programs.reset("live:acme")
    assert programs.last_media("live:acme", "ask") == ()


async def test_an_entry_makes_media_before_its_end() -> None:
    made = {"kind": "image", "base64": base64.b64encode(PICTURE).decode(), "mediaType": "image/png"}
    media = [{**made, "alt": "a", "name": "n"}, {"kind": "file", "base64": ""}]
    programs = ScriptedPrograms()
    assert programs.program("live:acme", "ask", [{"content": "Here.", "media": media}]) == 1
    items = [item async for item in ScriptedProvider(ManualClock(), programs).generate(showing()[0])]
    assert items[-3:-1] == [GeneratedMedia("image", PICTURE, "image/png", "a", "n"), GeneratedMedia("file", b"")]
    assert isinstance(items[-1], AnswerEnd)


@each_case(
    "media", [{"kind": "video", "base64": ""}], [{"kind": "image"}], [{"kind": "image", "base64": "!"}], ["x"], {}
)
def test_media_that_cannot_be_made_are_refused(media: Any) -> None:
    with pytest.raises(Exception, match=r"Expected|Invalid|missing"):
        parse_entry({"content": "x", "media": media})


async def test_counts_of_tokens_are_those_of_the_text() -> None:
    request, _ = showing("1234", "5678")
    _, stop = await collect_answer(ScriptedProvider(ManualClock()), request)
    assert stop is not None
    assert stop.usage.input_tokens == 3
