"""What models say in a run: streamed in order, recorded once, and neither look-alikes nor odd characters break it."""

import asyncio
import json
import logging
from typing import Any

import msgspec
import pytest

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks, until
from tests.harness.scripted_model import AnswerPiece, ScriptedModel
from weftwork.engine.models import answer_stream, model_calls
from weftwork.engine.sdk import generation
from weftwork.ports.models import AnswerEnd, Message, ModelRequest, ProviderFault
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.protocol.models.answers import TokenUsage
from weftwork.protocol.privacy.secret_matcher import HoldBack
from weftwork.protocol.run.header import TERMINAL_STATUSES, RunKey
from weftwork.protocol.workflow.node_types import NodeDeclaration

ONE = workflow([node("a", "test.talk")])
REQUEST = ModelRequest("test", "", (Message("user", "Well?"),))


def talking(times: int = 1, **wishes: Any) -> Any:
    """A node that asks its model so often, and gives what it was told."""

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        request = msgspec.structs.replace(REQUEST, **wishes)
        said = [(await context.generate(request, lambda answer: ())).text for _ in range(times)]
        return Completed({"said": said})

    return WaitingNode(NodeDeclaration("test.talk", "For one test.", effect="idempotent", instant=False), body)


async def chunks(bench: EngineHarness, key: RunKey) -> list[tuple[str, bool]]:
    return [(each["chunk"], each["isLast"]) for each in await bench.payloads(key, "output.chunk")]


@pytest.mark.rule("evt-07", "evt-08")
async def test_each_piece_is_a_chunk_and_the_last_one_says_why_it_ended() -> None:
    model = ScriptedModel(["to ", "be ", "or", AnswerEnd("length", TokenUsage(4, 3), "t-9")])
    bench, key = await EngineHarness(talking(), models=model).with_ended_run(ONE)
    assert await chunks(bench, key) == [("to ", False), ("be ", False), ("or", True)]
    said = await bench.payloads(key, "output.chunk")
    assert said[0]["meta"] == {"provider": "test", "model": "test-1"}
    usage = {"promptTokens": 4, "completionTokens": 3, "totalTokens": 7}
    assert said[2]["meta"] == {"provider": "test", "model": "t-9", "finishReason": "length", "usage": usage}
    ends = ["weftwork.model.answered", "provider.usage", "node.completed", "run.completed"]
    assert (await bench.event_types(key))[2:] == [*["output.chunk"] * 3, *ends]


@pytest.mark.rule("env-27")
async def test_what_is_to_pass_the_gate_first_is_not_streamed() -> None:
    bench, key = await EngineHarness(talking(stream=False), models=ScriptedModel(["to ", "be"])).with_ended_run(ONE)
    assert await chunks(bench, key) == []
    assert (await bench.payloads(key, "node.completed"))[0]["outputs"] == {"said": ["to be"]}


@pytest.mark.rule("model-01")
async def test_what_is_recorded_is_not_asked_for_again() -> None:
    held = asyncio.Event()
    model = ScriptedModel("first", ["sec", held, "ond"], "second", "third")
    bench, key = await EngineHarness(talking(3), models=model).with_run(ONE)
    await until(lambda: len(model.requests) == 2)
    await run_ready_tasks()
    bench = await bench.restart()
    await bench.run_to_end(key)
    assert (await bench.payloads(key, "node.completed"))[0]["outputs"] == {"said": ["first", "second", "third"]}
    assert len(model.requests) == 4
    # The process that died left an answer without an end: the next one ends it.
    cut = [("sec", False), ("", True)]
    assert await chunks(bench, key) == [("first", True), *cut, ("second", True), ("third", True)]
    assert len(await bench.payloads(key, "provider.usage")) == 3
    assert [each["attempt"] for each in await bench.payloads(key, "node.started")] == [1]


@pytest.mark.rule("model-01")
async def test_an_attempt_that_failed_leaves_no_answer_behind() -> None:
    model = ScriptedModel("first", [ProviderFault("provider_unavailable", "It is away.")], "again", "second")
    bench = EngineHarness(talking(2), models=model)
    key = await bench.execute(workflow([node("a", "test.talk", settings={"maxRetries": 1})]))
    assert (await bench.payloads(key, "node.completed"))[0]["outputs"] == {"said": ["again", "second"]}
    (retried,) = await bench.payloads(key, "node.retried")
    assert retried["lastError"] == {"code": "provider_unavailable", "message": "It is away."}


@each_case(
    "pieces, code",
    ([ProviderFault("provider_quota_exhausted", "No more.", False)], "provider_quota_exhausted"),
    (["half", "", ProviderFault("provider_unavailable", "Cut.", False)], "provider_unavailable"),
)
async def test_without_an_end_there_is_no_answer(pieces: list[AnswerPiece], code: str) -> None:
    model = ScriptedModel(pieces)
    bench, key = await EngineHarness(talking(), models=model).with_ended_run(ONE)
    assert (await bench.payloads(key, "node.failed"))[0]["error"]["code"] == code
    assert await bench.payloads(key, "weftwork.model.answered") == []
    assert await chunks(bench, key) == ([("half", False), ("", True)] if len(pieces) > 1 else [])
    assert not any("finishReason" in each["meta"] for each in await bench.payloads(key, "output.chunk"))
    assert model.closed == 1


async def test_a_host_without_models_says_so() -> None:
    bench, key = await EngineHarness(talking()).with_ended_run(ONE)
    assert (await bench.payloads(key, "node.failed"))[0]["error"]["code"] == "host_capability_missing"


@pytest.mark.rule("model-02")
@pytest.mark.parametrize(("piece", "length"), [("x" * 20, 35), ("", 0), ("x", 3), ("x" * 99, 35)])
async def test_an_endless_answer_is_cut_off(piece: str, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_stream, "MAX_ANSWER_CHARS", 35)
    model = ScriptedModel([*[piece] * 50, "end"])
    bench, key = await EngineHarness(talking(), models=model).with_ended_run(ONE)
    (answer,) = await bench.payloads(key, "weftwork.model.answered")
    assert (answer["stop"], len(answer["text"])) == ("length", length)
    assert model.closed == 1


async def test_who_cancels_a_run_hangs_up() -> None:
    model = ScriptedModel(["to ", asyncio.Event(), "be"])
    bench, key = await EngineHarness(talking(), models=model).with_run(ONE)
    await until(lambda: model.requests)
    await run_ready_tasks()
    await bench.cancel(key)
    await bench.run_to_end(key)
    assert (await bench.status(key), model.closed) == ("cancelled", 1)
    assert await chunks(bench, key) == [("to ", False), ("", True)]


SECRET = "swordfish-9000"
LARGE = "x" * 1_200_000
HIDES = workflow([node("a", "test.talk")], variables=[{"name": "word", "type": "string", "sensitive": True}])


@pytest.mark.rule("hide-06")
@fails_without(HoldBack, "release", lambda self, piece, last=False: piece, match="It is sword")
async def test_a_secret_in_two_pieces_is_found() -> None:
    bench = EngineHarness(talking(), models=ScriptedModel(["It is sword", "fish-", "9000", ", I hear"]))
    key = await bench.execute(HIDES, inputs={"word": SECRET})
    assert [chunk for chunk, _ in await chunks(bench, key)] == ["It is ", "", "[REDACTED:word]", ", I hear"]


HIDDEN_WORD = [{"name": "word", "type": "string", "sensitive": True}]
PLAN, NOTE = "vendor.acme.plan", "vendor.acme.note"
KINDS = {name: {"version": 1, "schema": {"type": "object"}} for name in (PLAN, NOTE)}
ASKS = {"type": "clarification.request", "payload": {"questions": [{"id": "who", "question": "Who?"}]}}
TEXT = workflow([node("a", "core.ai.callPrompt", config={"prompt": "Well?"})])
WANTED = {"envelopeType": PLAN, "userMessage": "Plan."}
TYPED = workflow(
    [node("a", "core.ai.generateEnvelope", config=WANTED, envelopeContract={"accepts": [PLAN, NOTE]})],
    metadata={"envelopeKinds": KINDS},
)


def plan(step: str) -> dict[str, Any]:
    return {"type": PLAN, "payload": {"step": step}}


async def ended(bench: EngineHarness, key: RunKey) -> None:
    """Answer what is asked, and wait for the end."""
    for _ in range(200):
        status = await bench.status(key)
        if status in TERMINAL_STATUSES:
            return
        if status == "waiting-input":
            await bench.answer(key, {"answers": {"who": "Ann"}}, "a")
        await run_ready_tasks()
    raise AssertionError("the run does not end")


@pytest.mark.parametrize("kind", ["user.created", "vendor.z.z"])
async def test_what_only_looks_like_an_envelope_stays_text(kind: str) -> None:
    said = json.dumps({"type": kind, "payload": {"a": 1}})
    bench, key = await EngineHarness(models=ScriptedModel(said)).with_run(TEXT)
    await ended(bench, key)
    assert (await bench.payloads(key, "node.completed"))[0]["outputs"]["text"] == said
    assert await bench.payloads(key, "weftwork.envelope.recorded") == []


@pytest.mark.parametrize("documents", [[ASKS, plan("early")], [plan("early"), ASKS]])
async def test_what_stands_beside_a_question_was_made_without_its_answer(documents: list[Any]) -> None:
    model = ScriptedModel(json.dumps(documents), json.dumps(plan("late")))
    bench, key = await EngineHarness(models=model).with_run(TYPED)
    await ended(bench, key)
    assert (await bench.payloads(key, "node.completed"))[0]["outputs"]["payload"] == {"step": "late"}
    assert "Ann" in model.requests[1].messages[-1].content


async def test_a_kind_that_was_not_wanted_comes_to_an_end_that_is_told() -> None:
    model = ScriptedModel(*[json.dumps({"type": NOTE, "payload": {}})] * 9)
    bench, key = await EngineHarness(models=model).with_run(TYPED)
    await ended(bench, key)
    kinds = await bench.event_types(key)
    assert kinds[-4:] == ["envelope.retry.exhausted", "cap.breached", "node.failed", "run.failed"]
    assert (await bench.payloads(key, "envelope.retry.exhausted"))[0]["finalReason"] == "type-mismatch"
    assert len(model.requests) == bench.runtime.limits.schema_rounds + 1


@fails_without(model_calls.EntryModelCalls, "redact_tool_calls", lambda self, calls: calls, match="in the log")
async def test_calls_of_tools_and_names_of_models_hold_no_secret() -> None:
    tools = ({"id": "1", "name": "send", "arguments": {"to": SECRET}},)
    said: list[AnswerPiece] = ["a ", "b", AnswerEnd("stop", TokenUsage(1, 1), f"m-{SECRET}", tool_calls=tools)]
    bench = EngineHarness(models=ScriptedModel(said))
    document = workflow([node("a", "core.ai.callPrompt", config={"prompt": "Well?"})], variables=HIDDEN_WORD)
    key = await bench.start(document, inputs={"word": SECRET})
    await ended(bench, key)
    assert (await bench.payloads(key, "output.chunk"))[-1]["meta"]["toolCalls"][0]["name"] == "send"
    assert not any(SECRET.encode() in event.payload for event in await bench.events(key)), "in the log"


async def test_what_a_provider_raises_is_not_repeated_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    class RaisingModel(ScriptedModel):
        def find(self, request: Any) -> Any:
            raise KeyError(f"key {SECRET}")

    with caplog.at_level(logging.DEBUG):
        bench, key = await EngineHarness(models=RaisingModel()).with_run(TEXT)
        await ended(bench, key)
        assert (await bench.payloads(key, "node.failed"))[0]["error"]["code"] == "provider_unavailable"
    (told,) = [each for each in caplog.records if each.message == "provider raised"]
    assert "KeyError in " in told.__dict__["error"]
    assert SECRET not in str([each.__dict__ for each in caplog.records])


async def test_the_end_of_all_attempts_is_told_of_an_item_too() -> None:
    body = {"typeId": "core.ai.structuredOutput", "config": {"outputSchema": {"type": "object"}, "prompt": "?"}}
    items = {"items": {"type": "static", "value": [1]}}
    bench = EngineHarness(models=ScriptedModel(*["[]"] * 9))
    key = await bench.start(workflow([node("a", "core.flow.map", config={"body": body}, inputs=items)]))
    await ended(bench, key)
    assert len(await bench.payloads(key, "envelope.retry.exhausted")) == 1


async def test_turns_have_a_bound_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for bound, asked in ((generation.MAX_TURNS, 4), (2, 2)):
        monkeypatch.setattr(generation, "MAX_TURNS", bound)
        model = ScriptedModel(*[json.dumps([ASKS])] * 9)
        bench, key = await EngineHarness(models=model).with_run(TYPED)
        await ended(bench, key)
        assert (await bench.status(key), len(model.requests)) == ("failed", asked)


@pytest.mark.rule("evt-07")
@each_case(
    "pieces, said",
    (["\ud83d", "\ude00", " ok"], "\U0001f600 ok"),
    (["a\ud800b"], "a\ufffdb"),
    (["a\udc00", "b"], "a\ufffdb"),
    (["a", "\ud83d"], "a\ufffd"),
)
async def test_half_a_character_is_made_whole_or_shown_as_missing(pieces: list[str], said: str) -> None:
    bench, key = await EngineHarness(talking(), models=ScriptedModel(pieces)).with_ended_run(ONE)
    assert await bench.status(key) == "completed"
    assert "".join(text for text, _ in await chunks(bench, key)) == said
    assert (await bench.payloads(key, "node.completed"))[0]["outputs"] == {"said": [said]}


@pytest.mark.rule("model-02")
async def test_pieces_without_a_word_come_to_an_end() -> None:
    bench, key = await EngineHarness(talking(), models=ScriptedModel([""] * 70_000)).with_ended_run(ONE)
    assert len(await chunks(bench, key)) < 70_000


async def test_what_else_a_provider_says_breaks_nothing_either() -> None:
    tool = {"id": "1", "name": "x\ud800", "arguments": "{}"}
    for told in (
        ["a", AnswerEnd("stop", TokenUsage(1, 1), "m\ud800", "d\ud800")],
        [AnswerEnd("content-filter", TokenUsage(1, 1), refusal="no\ud800", safety_category="c\ud800")],
        ["a", AnswerEnd("tool-call", TokenUsage(1, 1), tool_calls=(tool,))],
        [ProviderFault("provider_unavailable", "gone\ud800")],
    ):
        bench, key = await EngineHarness(talking(), models=ScriptedModel(told)).with_ended_run(ONE)
        failed = await bench.payloads(key, "run.failed")
        assert not any(each["error"]["code"] == "host_invariant_broken" for each in failed)


@pytest.mark.rule("model-57")
@fails_without(answer_stream, "MAX_TOOL_CALL_CHARS", 10**9, match="completed")
async def test_tool_calls_of_a_provider_have_a_size_limit() -> None:
    told = ["a", AnswerEnd("tool-call", TokenUsage(1, 1), tool_calls=({"id": "1", "name": "f", "arguments": LARGE},))]
    bench, key = await EngineHarness(talking(), models=ScriptedModel(told)).with_ended_run(ONE)
    assert await bench.status(key) == "failed", "completed"
    (failed,) = await bench.payloads(key, "run.failed")
    assert failed["error"]["message"] == "The tool calls of the model are too large."


@pytest.mark.rule("hide-06")
@fails_without(HoldBack, "update_texts", lambda self, texts: None, match="swordfish-9000")
async def test_a_secret_that_comes_up_while_a_stream_runs_is_not_cut_in_two() -> None:
    minted = asyncio.Event()

    async def mint(call: NodeCall, context: NodeContext) -> NodeOutcome:
        await until(lambda: model.requests)
        await run_ready_tasks()
        return Completed({"out": "swordfish-9000"})

    declared = NodeDeclaration("test.mint", "For one test.", effect="idempotent", instant=False)
    model = ScriptedModel(["It is ", minted, "sword", "fish-9000", "."])
    bench = EngineHarness(talking(), WaitingNode(declared, mint), models=model)
    two = workflow([node("a", "test.talk"), node("mint", "test.mint", outputSensitivity={"out": True})])
    key = await bench.start(two)
    while "node.completed" not in await bench.event_types(key):
        await run_ready_tasks()
    minted.set()
    await bench.run_to_end(key)
    assert "".join(text for text, _ in await chunks(bench, key)) == "It is [REDACTED:mint.out]."
