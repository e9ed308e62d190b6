"""Trust: where content from outside comes in, what is stamped with it, in templates and between runs."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.harness.cases import each_case, fails_without
from tests.harness.child_workflows import SUB_WORKFLOW, TERMINATE, child_keys, next_worker
from tests.harness.definitions import edge, header_of, node, plan_of, variable, workflow
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks, settle, waiting_node_type
from tests.harness.untrusted_content import (
    GATE_TYPE,
    STATIC,
    VARIABLES,
    mixing_node,
    port,
    run_untrusted,
    sequence,
    untrusted_node,
    untrusted_nodes,
)
from tests.simulation.trust_workflows import CORRELATION, MIXING_TYPES, UNTRUSTED_WORD
from weftwork.adapters.nodes.builtin import BUILTIN_TYPES
from weftwork.adapters.nodes.net.http_request import http_nodes
from weftwork.engine.host import child_start
from weftwork.engine.run.append import BatchBuilder
from weftwork.ports.node_outcome import AppendLog, Completed, NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall, NodeContext
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.run.events import EXTERNAL_CONTENT, Draft
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.testing.deterministic import SequentialIds
from weftwork.testing.fake_outbound import FakeOutbound


@pytest.mark.rule("trust-02")
def test_requests_bring_content_from_outside_under_every_name() -> None:
    found = {each.declaration.type_id for each in BUILTIN_TYPES if each.declaration.external_content}
    assert found == {"core.http.request", "core.openwop.http.fetch", "core.openwop.http.get"}


@pytest.mark.rule("trust-02")
@pytest.mark.rule("trust-06")
async def test_the_answer_to_a_request_is_untrusted_and_what_is_made_of_it() -> None:
    answers = FakeOutbound({"https://example.com/": {"said": UNTRUSTED_WORD}})
    bench = EngineHarness(*MIXING_TYPES, *http_nodes(answers))
    get = node("get", "core.http.request", config={"url": "https://example.com/"})
    document = workflow([node("before"), get, node("after", "core.identity")], [edge("before", "get")])
    document["edges"].append(edge("get", "after", sourceOutput="body"))
    _, key = await run_untrusted(document, bench=bench)
    events = await bench.run_to_end(key)
    assert untrusted_nodes(events) == {"before": False, "get": True, "after": True}
    assert events[-1].content_trust == "untrusted"
    assert msgspec.json.decode(events[-1].document)["contentTrust"] == "untrusted"
    assert [each.content_trust for each in events if each.type in ("run.started", "node.started")] == [None] * 4


@pytest.mark.rule("trust-04")
async def test_content_that_a_node_gets_by_itself_makes_it_untrusted_from_there_on() -> None:
    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        context.emit_event(AppendLog("info", "before"))
        assert not context.untrusted
        context.mark_untrusted()
        context.mark_untrusted()
        assert context.untrusted
        context.emit_event(AppendLog("info", "after"))
        done = await context.step("read", "idempotent", lambda: asyncio.sleep(0, UNTRUSTED_WORD))
        return Completed({"output": [done]})

    bench = EngineHarness(*MIXING_TYPES, waiting_node_type("test.fetches", body))
    fetches = node("f", "test.fetches")
    _, key = await run_untrusted(workflow([fetches, mixing_node("after")], [edge("f", "after")]), bench=bench)
    events = await bench.run_to_end(key)
    said = [(each.type, each.content_trust) for each in events if each.node_id == "f"]
    assert [kind for kind, _ in said].count(EXTERNAL_CONTENT) == 1
    assert said[:3] == [("node.started", None), ("log.appended", None), (EXTERNAL_CONTENT, "untrusted")]
    assert {trust for kind, trust in said[3:] if kind != "weftwork.effect.claimed"} == {"untrusted"}
    assert untrusted_nodes(events) == {"f": True, "after": True}


@pytest.mark.rule("trust-02")
@pytest.mark.parametrize("body", ["test.plain", "test.fetches", "core.identity"])
async def test_a_map_is_untrusted_if_a_body_is(body: str) -> None:
    async def fetches(call: NodeCall, context: NodeContext) -> NodeOutcome:
        context.mark_untrusted()
        return Completed({"output": UNTRUSTED_WORD})

    plain = InstantNode(
        NodeDeclaration("test.plain", "", external_content=True), lambda call: Completed({"output": UNTRUSTED_WORD})
    )
    bench = EngineHarness(*MIXING_TYPES, plain, waiting_node_type("test.fetches", fetches))
    items = {"type": "static", "value": [1, 2]}
    mapped = node("map", "core.flow.map", config={"body": {"typeId": body}}, inputs={"items": items})
    _, key = await run_untrusted(
        workflow([mapped, mixing_node("after")], [edge("map", "after", sourceOutput="results")]), bench=bench
    )
    events = await bench.run_to_end(key)
    wanted = body != "core.identity"
    assert untrusted_nodes(events) == {"map": wanted, "after": wanted}
    assert untrusted_nodes(events, "weftwork.map.item") == {"map": wanted}


@pytest.mark.rule("trust-04")
@pytest.mark.parametrize(("kind", "wanted"), [("external-event", True), ("custom", False)])
async def test_what_an_event_from_outside_holds_is_untrusted(kind: str, wanted: bool) -> None:
    asks = node("ask", "test.ask", config={"kind": kind})
    bench, key = await run_untrusted(workflow([asks, mixing_node("after")], [edge("ask", "after")]))
    await bench.answer(key, {**CORRELATION, "words": []})
    events = await bench.run_to_end(key)
    assert untrusted_nodes(events, "interrupt.resolved") == {"ask": wanted}
    assert untrusted_nodes(events, "interrupt.requested") == {"ask": False}
    assert untrusted_nodes(events) == {"ask": wanted, "after": wanted}


@pytest.mark.rule("trust-03")
async def test_a_run_that_is_taken_up_again_knows_the_same() -> None:
    document = sequence(
        untrusted_node("o", "a"),
        mixing_node("m", sets="b"),
        node("hold", GATE_TYPE),
        mixing_node("reads-a", "a"),
        mixing_node("reads-b", "b"),
    )
    bench, key = await run_untrusted(document)
    await run_ready_tasks()
    live = bench.executor._live[key].state
    folded = await bench.state(key)
    assert live.untrusted is not None
    assert live.untrusted == folded.untrusted
    both = [{name: each.untrusted for name, each in state.nodes.items()} for state in (live, folded)]
    assert both[0] == both[1]
    bench = await bench.restart()
    await run_ready_tasks()
    events = await bench.run_to_end(key, release="hold")
    assert untrusted_nodes(events) == {"o": True, "m": False, "hold": False, "reads-a": True, "reads-b": False}


@pytest.mark.rule("trust-06")
async def test_a_run_that_fails_by_an_untrusted_node_says_so() -> None:
    for source, trust in (("a", "untrusted"), ("b", None)):
        bench, key = await run_untrusted(sequence(untrusted_node("o", "a"), mixing_node("bad", source, fails=True)))
        assert (await bench.run_to_end(key))[-1].content_trust == trust


@pytest.mark.rule("trust-06")
@each_case(
    "said, tainted, wanted",
    ("trusted", True, "untrusted"),
    ("trusted", False, "trusted"),
    ("untrusted", False, "untrusted"),
    (None, False, None),
)
def test_nobody_raises_trust(said: Any, tainted: bool, wanted: Any) -> None:
    plan = plan_of(workflow([node("a")]))
    state = RunState(plan, header_of(plan), {})
    append = BatchBuilder(state, None, 5)
    append.add((Draft("run.started", {"workflowId": "w", "inputs": {}, "owner": {}}),))
    append.add((Draft("node.started", {"nodeId": "a", "typeId": "core.noop", "attempt": 1}, "a"),))
    if tainted:
        append.add((Draft(EXTERNAL_CONTENT, {"nodeId": "a"}, "a", content_trust="untrusted"),))
    append.add((Draft("log.appended", {"level": "info", "message": "m", "nodeId": "a"}, "a", content_trust=said),))
    append.add((Draft("node.completed", {"nodeId": "a", "outputs": {}}, "a"),))
    *_, event, last = append.build(SequentialIds(), None).events
    assert event.content_trust == wanted
    assert last.content_trust == ("untrusted" if wanted == "untrusted" else None)


async def test_an_ordinary_run_pays_nothing() -> None:
    bench, key = await run_untrusted(sequence(mixing_node("m", sets="a"), mixing_node("n", "a")))
    assert {each.content_trust for each in await bench.run_to_end(key)} == {None}
    assert (await bench.state(key)).untrusted is None


def _prompt(call: NodeCall) -> NodeOutcome:
    scope, text = call.scope, call.config["prompt"]
    shown = scope.render(text, {"ports": call.inputs}, wrap=lambda value: f"[{value}]")
    more = scope.render("{{item}} {{ports.x}}", {"ports": {"x": 1}, "item": 2}, wrap=lambda value: f"[{value}]")
    asked = [scope.is_untrusted(each, {"ports": call.inputs}) for each in ("ports.x", "ports.y", "ports", "1 + 1")]
    plain = scope.render(text, {"ports": call.inputs})
    return Completed({"shown": shown, "plain": plain, "asked": asked, "ports": sorted(call.untrusted), "more": more})


TEXT = {"type": "object", "properties": {"prompt": {"type": "string"}}}
PROMPT = InstantNode(NodeDeclaration("test.prompt", "Renders.", config=TEXT, templates={"/prompt": ()}), _prompt)


@pytest.mark.rule("trust-08")
def test_what_is_untrusted_in_a_template_is_wrapped_and_nothing_else() -> None:
    async def scenario(fetches: bool) -> dict[str, Any]:
        text = "Say {{ports.x}} {{ports.y}} {{variables.a}} {{variables.b}} {{nodes.o.outputs.output}} {{1 + 1}}!"
        inputs = {"x": port("variable", "a"), "y": port("variable", "b"), "z": port("connection", "o")}
        first = untrusted_node("o", "a") if fetches else mixing_node("o", sets="a")
        document = workflow(
            [first, node("p", "test.prompt", config={"prompt": text}, inputs=inputs)], [edge("o", "p")], VARIABLES
        )
        bench, key = await run_untrusted(document, bench=EngineHarness(*MIXING_TYPES, PROMPT))
        return msgspec.json.decode((await bench.run_to_end(key))[-1].payload)["outputs"]["p"]

    found = run(lambda: scenario(True))
    out = f'["{UNTRUSTED_WORD}"]'
    assert found["shown"] == f"Say [{out}] [] [{out}] [] [{out}] 2!"
    assert found["plain"] == f"Say {out} [] {out} [] {out} 2!"
    assert found["asked"] == [True, False, True, False]
    assert found["ports"] == ["input", "x", "z"]
    assert found["more"] == "[2] [1]"
    found = run(lambda: scenario(False))
    assert (found["shown"], found["asked"], found["ports"]) == (found["plain"], [False] * 4, [])
    assert found["more"] == "2 1"


CHILD = workflow(
    [mixing_node("reads-x", "x"), mixing_node("reads-y", "y", sets="given")],
    variables=[variable(name, "array", defaultValue=[]) for name in ("x", "y", "given")],
    id="child",
)


@pytest.mark.rule("trust-05")
@fails_without(child_start, "_untrusted_inputs", lambda *given: ())
async def test_a_child_gets_values_as_they_are_and_gives_them_back_so() -> None:
    async def scenario(x: str, y: str) -> tuple[dict[str, bool], dict[str, bool], Any]:
        config = {"workflowId": "child", "inputMapping": {"x": x, "y": y}, "outputMapping": {"c": "given"}}
        calls = node("call", SUB_WORKFLOW, config=config)
        bench, key = await run_untrusted(sequence(untrusted_node("o", "a"), calls, mixing_node("reads-c", "c")), CHILD)
        await bench.run_to_end(key)
        events = await bench.events(key)
        (child,) = await child_keys(bench, key)
        inner = await bench.events(child)
        assert (inner[0].content_trust == "untrusted") is ("a" in (x, y))
        (ended,) = [each for each in events if each.type == "weftwork.child.ended"]
        assert "untrusted" not in msgspec.json.decode(ended.payload)
        return untrusted_nodes(events), untrusted_nodes(inner), ended.content_trust

    outer, inner, ended = await scenario("b", "b")
    assert (outer["call"], outer["reads-c"], inner, ended) == (False, False, {"reads-x": False, "reads-y": False}, None)
    outer, inner, ended = await scenario("b", "a")
    assert inner == {"reads-x": False, "reads-y": True}
    assert (outer["call"], outer["reads-c"], ended) == (True, True, "untrusted")


@pytest.mark.rule("trust-05")
@pytest.mark.parametrize("apart", [False, True])
@fails_without("weftwork.engine.run.append.is_child_result_untrusted", lambda *given: False)
async def test_what_a_child_gets_from_outside_reaches_its_parent(apart: bool) -> None:
    child = workflow(
        [untrusted_node("o", "given")], variables=[variable("given", "array", defaultValue=[])], id="child"
    )
    config = {"workflowId": "child", "outputMapping": {"c": "given"}}
    held = [node("hold", GATE_TYPE)] if apart else []
    bench, key = await run_untrusted(
        sequence(node("call", SUB_WORKFLOW, config=config), *held, mixing_node("reads", "c")), child
    )
    if apart:
        bench = await bench.restart()
        await settle()
        bench.gate_node.release("hold")
    events = await bench.run_to_end(key)
    assert untrusted_nodes(events)["call"]
    assert untrusted_nodes(events)["reads"]


@pytest.mark.rule("trust-05")
async def test_items_of_a_map_over_child_runs_are_followed() -> None:
    child = workflow([mixing_node("m", "item")], variables=[variable("item", "array", defaultValue=[])], id="child")
    for source, wanted in (("b", False), ("a", True)):
        items = {"type": "expression", "expression": f"[variables.{source}]"}
        mapped = node("map", "core.flow.map", config={"body": {"workflowId": "child"}}, inputs={"items": items})
        bench, key = await run_untrusted(sequence(untrusted_node("o", "a"), mapped), child)
        assert untrusted_nodes(await bench.run_to_end(key))["map"] is wanted
        (inner,) = await child_keys(bench, key)
        assert untrusted_nodes(await bench.events(inner))["m"] is wanted


@pytest.mark.rule("trust-02")
async def test_a_dispatch_is_untrusted_if_the_decision_is() -> None:
    """Though it is in the state of the run and not in any port."""
    decided = msgspec.json.encode(next_worker("w")).decode()
    for source, wanted in (("a", True), ("b", False)):
        decision = {"type": "expression", "expression": f"size(variables.{source}) > 5 ? {{}} : {decided}"}
        inputs = {"decision": decision, "unused": STATIC}
        lead = node("lead", "core.orchestrator.supervisor", inputs=inputs, config={"plan": [TERMINATE]})
        document = workflow(
            [untrusted_node("o", "a"), lead, node("send", "core.dispatch", inputs={"unused": STATIC})],
            [edge("o", "lead", targetInput="unused"), edge("lead", "send", targetInput="unused")],
            VARIABLES,
        )
        bench, key = await run_untrusted(document, workflow([node("w")], id="w"))
        events = await bench.run_to_end(key)
        assert "runOrchestrator.decided" in [each.type for each in events]
        assert untrusted_nodes(events) == {"o": True, "lead": wanted, "send": wanted}
