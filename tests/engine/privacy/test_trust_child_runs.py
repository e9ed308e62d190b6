"""Trust between runs: what a child is given and gives back, and whose word a dispatch carries out."""

from typing import Any

import msgspec
import pytest

from tests.harness.child_workflows import SUB_WORKFLOW, TERMINATE, child_keys, next_worker, settle
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import run
from tests.harness.untrusted_content import (
    GATE_TYPE,
    STATIC,
    VARIABLES,
    mixing_node,
    run_untrusted,
    sequence,
    untrusted_node,
    untrusted_nodes,
)
from weftwork.engine.host import child_start

CHILD = workflow(
    [mixing_node("reads-x", "x"), mixing_node("reads-y", "y", sets="given")],
    variables=[variable(name, "array", defaultValue=[]) for name in ("x", "y", "given")],
    id="child",
)


@pytest.mark.rule("trust-05")
def test_a_child_gets_values_as_they_are_and_gives_them_back_so() -> None:
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

    outer, inner, ended = run(lambda: scenario("b", "b"))
    assert (outer["call"], outer["reads-c"], inner, ended) == (False, False, {"reads-x": False, "reads-y": False}, None)
    outer, inner, ended = run(lambda: scenario("b", "a"))
    assert inner == {"reads-x": False, "reads-y": True}
    assert (outer["call"], outer["reads-c"], ended) == (True, True, "untrusted")


@pytest.mark.rule("trust-05")
@pytest.mark.parametrize("apart", [False, True])
def test_what_a_child_gets_from_outside_reaches_its_parent(apart: bool) -> None:
    child = workflow(
        [untrusted_node("o", "given")], variables=[variable("given", "array", defaultValue=[])], id="child"
    )

    async def scenario() -> None:
        config = {"workflowId": "child", "outputMapping": {"c": "given"}}
        held = [node("hold", GATE_TYPE)] if apart else []
        bench, key = await run_untrusted(
            sequence(node("call", SUB_WORKFLOW, config=config), *held, mixing_node("reads", "c")), child
        )
        if apart:
            await bench.crash()
            bench = bench.successor()
            await bench.executor.recover()
            await settle()
            bench.gate_node.release("hold")
        events = await bench.run_to_end(key)
        assert untrusted_nodes(events)["call"]
        assert untrusted_nodes(events)["reads"]

    run(scenario)


@pytest.mark.rule("trust-05")
def test_items_of_a_map_over_child_runs_are_followed() -> None:
    child = workflow([mixing_node("m", "item")], variables=[variable("item", "array", defaultValue=[])], id="child")

    async def scenario(source: str) -> tuple[bool, bool]:
        config = {"body": {"workflowId": "child"}}
        items = {"type": "expression", "expression": f"[variables.{source}]"}
        mapped = node("map", "core.flow.map", config=config, inputs={"items": items})
        bench, key = await run_untrusted(sequence(untrusted_node("o", "a"), mapped), child)
        events = await bench.run_to_end(key)
        (inner,) = await child_keys(bench, key)
        return untrusted_nodes(events)["map"], untrusted_nodes(await bench.events(inner))["m"]

    assert run(lambda: scenario("b")) == (False, False)
    assert run(lambda: scenario("a")) == (True, True)


@pytest.mark.rule("trust-02")
def test_a_dispatch_is_untrusted_if_the_decision_is() -> None:
    """Though it is in the state of the run and not in any port."""

    async def scenario(source: str) -> dict[str, bool]:
        decision = {
            "type": "expression",
            "expression": f"size(variables.{source}) > 5 ? {{}} : {_cel(next_worker('w'))}",
        }
        lead = node(
            "lead",
            "core.orchestrator.supervisor",
            inputs={"decision": decision, "unused": STATIC},
            config={"plan": [TERMINATE]},
        )
        worker = workflow([node("w")], id="w")
        document = workflow(
            [untrusted_node("o", "a"), lead, node("send", "core.dispatch", inputs={"unused": STATIC})],
            [edge("o", "lead", targetInput="unused"), edge("lead", "send", targetInput="unused")],
            VARIABLES,
        )
        bench, key = await run_untrusted(document, worker)
        events = await bench.run_to_end(key)
        assert "runOrchestrator.decided" in [each.type for each in events]
        return untrusted_nodes(events)

    assert run(lambda: scenario("a")) == {"o": True, "lead": True, "send": True}
    assert run(lambda: scenario("b")) == {"o": True, "lead": False, "send": False}


def _cel(decision: dict[str, Any]) -> str:
    return msgspec.json.encode(decision).decode()


@pytest.mark.parametrize("guard", ["given", "heard"])
def test_the_proof_of_children_goes_red_without_each_guard(guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if guard == "given":
        monkeypatch.setattr(child_start, "_untrusted_inputs", lambda *given: ())
    else:
        monkeypatch.setattr("weftwork.engine.run.append.is_child_result_untrusted", lambda *given: False)
    proofs = {
        "given": test_a_child_gets_values_as_they_are_and_gives_them_back_so,
        "heard": lambda: test_what_a_child_gets_from_outside_reaches_its_parent(False),
    }
    with pytest.raises(AssertionError):
        proofs[guard]()
