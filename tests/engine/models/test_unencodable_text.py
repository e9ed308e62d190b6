"""Texts of providers that no JSON can hold: the answer is readable, and neither the run nor the host breaks by it."""

import asyncio

import pytest

from tests.engine.models.test_model_calls import ONE, chunks, talking
from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks, until
from tests.harness.scripted_model import ScriptedModel
from weftwork.ports.models import AnswerEnd, ProviderFault
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.protocol.models.answers import TokenUsage
from weftwork.protocol.privacy.secret_matcher import HoldBack
from weftwork.protocol.workflow.node_types import NodeDeclaration


@pytest.mark.rule("evt-07")
@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        (["\ud83d", "\ude00", " ok"], "\U0001f600 ok"),
        (["a\ud800b"], "a\ufffdb"),
        (["a\udc00", "b"], "a\ufffdb"),
        (["a", "\ud83d"], "a\ufffd"),
    ],
)
async def test_half_a_character_is_made_whole_or_shown_as_missing(pieces: list[str], said: str) -> None:
    bench = EngineHarness(talking(), models=ScriptedModel(pieces))
    key = await bench.start(ONE)
    await bench.run_to_end(key)
    assert await bench.status(key) == "completed"
    assert "".join(text for text, _ in await chunks(bench, key)) == said
    assert (await bench.payloads(key, "node.completed"))[0]["outputs"] == {"said": [said]}


@pytest.mark.rule("model-02")
async def test_pieces_without_a_word_come_to_an_end() -> None:
    bench = EngineHarness(talking(), models=ScriptedModel([""] * 70_000))
    key = await bench.start(ONE)
    await bench.run_to_end(key)
    assert len(await chunks(bench, key)) < 70_000


async def test_what_else_a_provider_says_breaks_nothing_either() -> None:
    for told in (
        ["a", AnswerEnd("stop", TokenUsage(1, 1), "m\ud800", "d\ud800")],
        [AnswerEnd("content-filter", TokenUsage(1, 1), refusal="no\ud800", safety_category="c\ud800")],
        [
            "a",
            AnswerEnd("tool-call", TokenUsage(1, 1), tool_calls=({"id": "1", "name": "x\ud800", "arguments": "{}"},)),
        ],
        [ProviderFault("provider_unavailable", "gone\ud800")],
    ):
        bench = EngineHarness(talking(), models=ScriptedModel(told))
        key = await bench.start(ONE)
        await bench.run_to_end(key)
        failed = await bench.payloads(key, "run.failed")
        assert not any(each["error"]["code"] == "host_invariant_broken" for each in failed)


@pytest.mark.rule("hide-06")
@pytest.mark.parametrize("learns", [True, False])
async def test_a_secret_that_comes_up_while_a_stream_runs_is_not_cut_in_two(
    learns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not learns:
        monkeypatch.setattr(HoldBack, "update_texts", lambda self, texts: None)
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
    assert "".join(text for text, _ in await chunks(bench, key)) == (
        "It is [REDACTED:mint.out]." if learns else "It is swordfish-9000."
    )
