"""A replay that goes on after its record reaches nothing outside: its nodes fail, whatever they try."""

from typing import Any

import pytest

import weftwork
from tests.engine.replay.replay_harness import replay
from tests.harness.cases import fails_without
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from tests.harness.scripted_model import ScriptedModel
from weftwork.adapters.python.declaration.node_discovery import nodes_from_functions
from weftwork.adapters.python.node_runner import PythonNodes
from weftwork.adapters.python.threads import ThreadPool
from weftwork.engine.models import model_calls
from weftwork.engine.nodes import effect_ledger, node_context
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.protocol.workflow.node_types import Effect, NodeDeclaration
from weftwork.testing.fake_outbound import FakeOutbound

CALLS: list[str] = []


async def reach(name: str = "outside") -> str:
    CALLS.append(name)
    return name


def reaching(effect: Effect, step: Effect | None = None) -> NodeType:
    async def work(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return Completed({"output": await (reach() if step is None else context.step("s", step, reach))})

    return WaitingNode(NodeDeclaration("test.reach", "Reaches.", effect, instant=False), work)


OUTBOUND = FakeOutbound({"https://flows.example/": "hello"})


@weftwork.node("test.fetch")
async def fetch(ctx: Any) -> str:
    return (await ctx.fetch("https://flows.example/")).text


@weftwork.node("test.plain")
def plain_fetch(ctx: Any) -> str:
    return ctx.fetch("https://flows.example/").text


@weftwork.node("test.chat")
async def chat(ctx: Any) -> str:
    return (await ctx.call_ai("Hello.")).text


def python_types() -> tuple[NodeType, ...]:
    return tuple(
        PythonNodes(nodes_from_functions([fetch, plain_fetch, chat]), ThreadPool(2, 2), OUTBOUND).types.values()
    )


CHILD = {**workflow([node("inner")]), "id": "child"}


async def continued(target: dict[str, Any], *types: NodeType, **harness: Any) -> tuple[EngineHarness, str]:
    """A replay of a run that waits for a person, in which the person has answered; and how its target has failed."""
    document = workflow(
        [node("ask", "core.interrupt", config={"kind": "custom", "data": {"customKind": "test.ask"}}), target],
        [edge("ask", target["id"])],
    )
    engine = await EngineHarness(*types, **harness).open()
    assert await engine.catalog.register(CHILD) == []
    engine, source = await engine.with_settled_run(document)
    CALLS.clear()
    OUTBOUND.requests.clear()
    key = await replay(engine, source)
    assert await engine.status(key) == "waiting-input", "the replay waits for the same person"
    await engine.answer(key, "yes")
    for _ in range(200):
        await run_ready_tasks()
        if await engine.status(key) in ("completed", "failed"):
            break
    assert CALLS == []
    assert OUTBOUND.requests == []
    return engine, (await engine.payload(key, "run.failed"))["error"]["code"]


def _allow(*_: Any) -> None: ...


LEDGER = (effect_ledger, "deny_in_replay", _allow)
CONTEXT = (node_context, "deny_in_replay", _allow)
MODELS = (model_calls, "deny_in_replay", _allow)


@pytest.mark.rule("replay-05")
@fails_without(*LEDGER)
@pytest.mark.parametrize("step", ["once", "idempotent"])
async def test_a_replay_begins_no_step(step: Effect) -> None:
    _, code = await continued(node("reach", "test.reach"), reaching("pure", step))
    assert code == "replay_source_missing"


@fails_without([*LEDGER], [*CONTEXT])
async def test_a_replay_claims_no_node() -> None:
    _, code = await continued(node("reach", "test.reach"), reaching("once"))
    assert code == "replay_source_missing"


@fails_without(*CONTEXT)
async def test_a_replay_calls_no_node_with_an_effect() -> None:
    _, code = await continued(node("reach", "test.reach"), reaching("idempotent"))
    assert code == "replay_source_missing"


@fails_without(*CONTEXT)
@pytest.mark.parametrize("type_id", ["test.fetch", "test.plain"])
async def test_a_replay_sends_no_request(type_id: str) -> None:
    _, code = await continued(node("fetch", type_id), *python_types())
    assert code == "replay_source_missing"


@fails_without(*MODELS, errors=(ValueError,))
async def test_a_replay_calls_no_model() -> None:
    model = ScriptedModel("hello")
    _, code = await continued(node("chat", "test.chat"), *python_types(), models=model)
    assert model.requests == []
    assert code == "replay_source_missing"


@fails_without([*MODELS], [*CONTEXT], errors=(ValueError,))
async def test_a_replay_calls_no_model_for_a_built_in_node() -> None:
    model = ScriptedModel("hello")
    target = node("chat", "core.ai.callPrompt", config={"prompt": "Hello."})
    _, code = await continued(target, models=model)
    assert model.requests == []
    assert code == "replay_source_missing"


@fails_without(*CONTEXT, errors=(ValueError,))
async def test_a_replay_starts_no_child() -> None:
    _, code = await continued(node("sub", "core.subWorkflow", config={"workflowId": "child"}))
    assert code == "replay_source_missing"
