"""What keeps a child from being started, and what it starts with."""

import asyncio

import msgspec
import pytest

from tests.harness.child_workflows import QUICK, SUB_WORKFLOW, calling_workflow, child_keys, settle, start_run
from tests.harness.definitions import node, variable, workflow
from tests.harness.engine_harness import EngineHarness, run
from weftwork.ports.node_outcome import AwaitsChildren, Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.protocol.limits import Limits
from weftwork.protocol.workflow.node_types import NodeDeclaration


@pytest.mark.rule("lim-15")
async def test_a_workflow_that_calls_itself_comes_to_an_end() -> None:
    endless = workflow([node("call", SUB_WORKFLOW, config={"workflowId": "endless"})], id="endless")

    bench, key = await start_run(endless, bench=EngineHarness(limits=Limits(max_run_depth=3)))
    await settle()
    assert await bench.status(key) == "failed"
    assert await bench.store.child_runs.count_descendants(key) == 3
    low = key
    for _ in range(3):
        (low,) = await child_keys(bench, low)
    (failed,) = await bench.payloads(low, "node.failed")
    assert failed["error"]["code"] == "child_depth_exceeded"


@pytest.mark.rule("lim-15")
def test_a_tree_does_not_grow_beyond_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    two = workflow([node(name, SUB_WORKFLOW, config={"workflowId": "two"}) for name in "ab"], id="two")

    async def grown() -> int:
        bench, key = await start_run(two, bench=EngineHarness(limits=Limits(max_run_depth=6, max_descendants=20)))
        for _ in range(20):
            await settle()
        assert await bench.status(key) == "failed"
        return await bench.store.child_runs.count_descendants(key)

    assert run(grown) == 20
    monkeypatch.setattr("weftwork.engine.host.child_start.ChildStarter._has_room", lambda *_: asyncio.sleep(0, True))
    assert run(grown) == 126


@pytest.mark.rule("hide-05")
async def test_what_a_run_hides_its_child_must_hide_as_well() -> None:
    async def code(sensitive: bool) -> str | None:
        child = workflow([node("q")], id="quick", variables=[variable("mine", sensitive=sensitive)])
        parent = calling_workflow("quick", inputMapping={"mine": "secret"})
        parent["variables"] = [variable("secret", sensitive=True, defaultValue="hunter2-hunter2")]
        bench, key = await start_run(parent, child)
        for each in (key, *await child_keys(bench, key)):
            assert b"hunter2" not in b"".join(event.payload for event in await bench.events(each))
            assert b"hunter2" not in msgspec.json.encode((await bench.stored_run(each)).header)
        if failed := await bench.payloads(key, "node.failed"):
            return failed[0]["error"]["code"]
        (low,) = await child_keys(bench, key)
        assert (await bench.state(low)).variables["mine"] == "hunter2-hunter2"
        return None

    assert await code(sensitive=False) == "child_input_hidden"
    assert await code(sensitive=True) is None


async def test_a_node_that_waits_for_no_child_at_all_fails() -> None:
    async def nothing(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return AwaitsChildren()

    idle = WaitingNode(NodeDeclaration("test.idle", "Waits for nothing.", instant=False), nothing)

    bench, key = await start_run(workflow([node("call", "test.idle")]), bench=EngineHarness(idle))
    (failed,) = await bench.payloads(key, "node.failed")
    assert failed["error"]["code"] == "node_misused"


@pytest.mark.rule("kin-01")
async def test_a_child_is_its_parents_in_all_but_the_options_of_one_run() -> None:
    bench, _ = await start_run(QUICK)
    assert await bench.catalog.register(calling_workflow("quick")) == []
    options = {"recursionLimit": 7, "runTimeoutMs": 60_000, "acme.colour": "red"}
    key = await bench.start(calling_workflow("quick"), configurable=options)
    await settle()
    (child,) = await bench.store.child_runs.children(key, None, 10)
    header, above = child.header, (await bench.stored_run(key)).header
    assert (header.owner, header.partition) == (above.owner, above.partition)
    assert header.configurable == {"acme.colour": "red"}
    assert header.parent is not None
    assert (header.parent.run_id, header.parent.root, header.parent.depth) == (key.run_id, key.run_id, 1)
    assert (header.parent.node_id, header.parent.cause) == ("call", SUB_WORKFLOW)
    assert header.traceparent is not None


async def test_an_unknown_child_fails_the_node_that_wants_it() -> None:
    bench, key = await start_run(calling_workflow("nobody"))
    (failed,) = await bench.payloads(key, "node.failed")
    assert failed["error"]["code"] == "unknown_child_workflow"
    assert await child_keys(bench, key) == []


async def test_a_part_of_a_map_starts_no_children() -> None:
    async def tries(call: NodeCall, context: NodeContext) -> NodeOutcome:
        new = await context.prepare_child("x", "quick", {})
        return new if isinstance(new, Failed) else Completed({})

    part = WaitingNode(NodeDeclaration("test.part", "Wants a child.", instant=False), tries)
    document = workflow([node("m", "core.flow.map", config={"items": [1], "body": {"typeId": "test.part"}})])

    bench, key = await start_run(document, QUICK, bench=EngineHarness(part))
    (failed,) = await bench.payloads(key, "node.failed")
    assert failed["error"]["details"]["code"] == "node_misused"


@pytest.mark.rule("hide-05")
def test_a_copy_of_what_a_run_hides_is_not_given_to_its_child(monkeypatch: pytest.MonkeyPatch) -> None:
    child = workflow([node("q")], id="quick", variables=[variable("note")])
    parent = calling_workflow("quick", inputMapping={"note": "note"})
    parent["variables"] = [variable("secret", sensitive=True), variable("note")]

    async def shown() -> bool:
        bench, _ = await start_run(child)
        inputs = {"secret": "hunter2-hunter2", "note": "use hunter2-hunter2 here"}
        key = await bench.start(parent, inputs=inputs)
        await settle()
        logs = [event.payload for each in (key, *await child_keys(bench, key)) for event in await bench.events(each)]
        return b"hunter2" in b"".join(logs)

    assert not run(shown)
    monkeypatch.setattr("weftwork.engine.host.child_start._redaction_of", lambda state: lambda value: value)
    assert run(shown)
