"""What models say in a run: streamed in order, recorded once, and never asked for again."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks, until
from tests.harness.scripted_model import AnswerPiece, ScriptedModel
from weftwork.engine.models import answer_stream
from weftwork.ports.models import AnswerEnd, Message, ModelRequest, ProviderFault
from weftwork.ports.node_outcome import AppendLog, Completed, EmitEvent, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.protocol.models.answers import ModelAnswer, TokenUsage
from weftwork.protocol.privacy.secret_matcher import HoldBack
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.workflow.node_types import NodeDeclaration

ONE = workflow([node("a", "test.talk")])
REQUEST = ModelRequest("test", "", (Message("user", "Well?"),))


def nothing(answer: ModelAnswer) -> tuple[EmitEvent | AppendLog, ...]:
    return ()


def talking(times: int = 1, **wishes: Any) -> Any:
    """A node that asks its model so often, and gives what it was told."""

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        request = msgspec.structs.replace(REQUEST, **wishes)
        said = [(await context.generate(request, nothing)).text for _ in range(times)]
        return Completed({"said": said})

    return WaitingNode(NodeDeclaration("test.talk", "For one test.", effect="idempotent", instant=False), body)


async def chunks(bench: EngineHarness, key: RunKey) -> list[tuple[str, bool]]:
    return [(each["chunk"], each["isLast"]) for each in await bench.payloads(key, "output.chunk")]


@pytest.mark.rule("evt-07", "evt-08")
async def test_each_piece_is_a_chunk_and_the_last_one_says_why_it_ended() -> None:
    bench = EngineHarness(
        talking(), models=ScriptedModel(["to ", "be ", "or", AnswerEnd("length", TokenUsage(4, 3), "t-9")])
    )
    key = await bench.start(ONE)
    await bench.run_to_end(key)
    assert await chunks(bench, key) == [("to ", False), ("be ", False), ("or", True)]
    said = await bench.payloads(key, "output.chunk")
    assert said[0]["meta"] == {"provider": "test", "model": "test-1"}
    usage = {"promptTokens": 4, "completionTokens": 3, "totalTokens": 7}
    assert said[2]["meta"] == {"provider": "test", "model": "t-9", "finishReason": "length", "usage": usage}
    kinds = await bench.event_types(key)
    assert kinds[2:] == [
        *["output.chunk"] * 3,
        "weftwork.model.answered",
        "provider.usage",
        "node.completed",
        "run.completed",
    ]


@pytest.mark.rule("env-27")
async def test_what_is_to_pass_the_gate_first_is_not_streamed() -> None:
    bench = EngineHarness(talking(stream=False), models=ScriptedModel(["to ", "be"]))
    key = await bench.start(ONE)
    await bench.run_to_end(key)
    assert await chunks(bench, key) == []
    assert (await bench.payloads(key, "node.completed"))[0]["outputs"] == {"said": ["to be"]}


@pytest.mark.rule("model-01")
async def test_what_is_recorded_is_not_asked_for_again() -> None:
    held = asyncio.Event()
    model = ScriptedModel("first", ["sec", held, "ond"], "second", "third")
    bench = EngineHarness(talking(3), models=model)
    key = await bench.start(ONE)
    await until(lambda: len(model.requests) == 2)
    await run_ready_tasks()
    await bench.crash()
    bench = bench.successor()
    await bench.executor.recover()
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
    key = await bench.start(workflow([node("a", "test.talk", settings={"maxRetries": 1})]))
    await bench.run_to_end(key)
    assert (await bench.payloads(key, "node.completed"))[0]["outputs"] == {"said": ["again", "second"]}
    (retried,) = await bench.payloads(key, "node.retried")
    assert retried["lastError"] == {"code": "provider_unavailable", "message": "It is away."}


@pytest.mark.parametrize(
    ("pieces", "code"),
    [
        ([ProviderFault("provider_quota_exhausted", "No more.", False)], "provider_quota_exhausted"),
        (["half", "", ProviderFault("provider_unavailable", "Cut.", False)], "provider_unavailable"),
    ],
)
async def test_without_an_end_there_is_no_answer(pieces: list[AnswerPiece], code: str) -> None:
    model = ScriptedModel(pieces)
    bench = EngineHarness(talking(), models=model)
    key = await bench.start(ONE)
    await bench.run_to_end(key)
    assert (await bench.payloads(key, "node.failed"))[0]["error"]["code"] == code
    assert await bench.payloads(key, "weftwork.model.answered") == []
    shown = await chunks(bench, key)
    assert shown == ([("half", False), ("", True)] if len(pieces) > 1 else [])
    assert not any("finishReason" in each["meta"] for each in await bench.payloads(key, "output.chunk"))
    assert model.closed == 1


async def test_a_host_without_models_says_so() -> None:
    bench = EngineHarness(talking())
    key = await bench.start(ONE)
    await bench.run_to_end(key)
    assert (await bench.payloads(key, "node.failed"))[0]["error"]["code"] == "host_capability_missing"


@pytest.mark.rule("model-02")
@pytest.mark.parametrize(("piece", "length"), [("x" * 20, 35), ("", 0), ("x", 3), ("x" * 99, 35)])
async def test_an_endless_answer_is_cut_off(piece: str, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_stream, "MAX_ANSWER_CHARS", 35)
    model = ScriptedModel([*[piece] * 50, "end"])
    bench = EngineHarness(talking(), models=model)
    key = await bench.start(ONE)
    await bench.run_to_end(key)
    (answer,) = await bench.payloads(key, "weftwork.model.answered")
    assert (answer["stop"], len(answer["text"])) == ("length", length)
    assert model.closed == 1


async def test_who_cancels_a_run_hangs_up() -> None:
    model = ScriptedModel(["to ", asyncio.Event(), "be"])
    bench = EngineHarness(talking(), models=model)
    key = await bench.start(ONE)
    await until(lambda: model.requests)
    await run_ready_tasks()
    await bench.cancel(key)
    await bench.run_to_end(key)
    assert (await bench.status(key), model.closed) == ("cancelled", 1)
    assert await chunks(bench, key) == [("to ", False), ("", True)]


SECRET = "swordfish-9000"
HIDES = workflow(
    [node("a", "test.talk")],
    variables=[{"name": "word", "type": "string", "sensitive": True}],
)


@pytest.mark.rule("hide-06")
@pytest.mark.parametrize("leaky", [False, True])
def test_a_secret_in_two_pieces_is_found(leaky: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> list[str]:
        bench = EngineHarness(talking(), models=ScriptedModel(["It is sword", "fish-", "9000", ", I hear"]))
        key = await bench.start(HIDES, inputs={"word": SECRET})
        await bench.run_to_end(key)
        return [chunk for chunk, _ in await chunks(bench, key)]

    if leaky:
        monkeypatch.setattr(HoldBack, "release", lambda self, piece, last=False: piece)
        assert run(work) == ["It is sword", "fish-", "9000", ", I hear"]
    else:
        assert run(work) == ["It is ", "", "[REDACTED:word]", ", I hear"]
