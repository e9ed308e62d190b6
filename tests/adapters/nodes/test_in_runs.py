"""Built-in nodes in real runs: what one gives, the next one gets."""

from typing import Any

import pytest

from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks, until


def static(value: Any) -> dict[str, Any]:
    return {"type": "static", "value": value}


def expression(source: str) -> dict[str, Any]:
    return {"type": "expression", "expression": source}


def outputs(document: dict[str, Any]) -> dict[str, Any]:
    """The outputs of a run that completes."""

    async def work() -> dict[str, Any]:
        bench, key = await EngineHarness().with_ended_run(document)
        (completed,) = await bench.payloads(key, "run.completed")
        return completed["outputs"]

    return run(work)


def test_plain_edges_lead_through_markers() -> None:
    nodes = [
        node("start", "core.start", inputs={"input": static({"a": 1})}),
        node("fork", "core.parallel"),
        node("left", "core.transform", config={"expression": "ports.input.a + 1.0"}),
        node("right", "core.template", config={"template": "a is {{ports.input.a}}"}),
        node("merge", "core.merge"),
        node("end", "core.end"),
    ]
    edges = [edge("start", "fork"), edge("fork", "left"), edge("fork", "right")]
    edges += [edge("left", "merge"), edge("right", "merge"), edge("merge", "end")]
    merged = {"left": 2, "right": "a is 1"}
    assert outputs(workflow(nodes, edges)) == {"end": {"input": merged, "output": merged}}


@pytest.mark.parametrize(("total", "way"), [(120, "large"), (80, "small")])
def test_a_condition_takes_one_way_and_a_merge_the_value_of_it(total: int, way: str) -> None:
    nodes = [
        node("if", "core.conditional", config={"expression": "ports.input > 100.0"}, inputs={"input": static(total)}),
        node("large", "core.transform", config={"expression": "'large'"}),
        node("small", "core.transform", config={"expression": "'small'"}),
        node("end", "core.merge", config={"mode": "first"}),
    ]
    edges = [edge("if", "large", sourceOutput="true"), edge("if", "small", sourceOutput="false")]
    edges += [edge("large", "end", "none_failed"), edge("small", "end", "none_failed")]
    assert outputs(workflow(nodes, edges)) == {"end": {"output": way}}


def test_a_switch_takes_one_way_of_many() -> None:
    nodes = [
        node("switch", "core.switch", config={"expression": "1.0 + 1.0", "cases": {"one": 1, "two": 2}}),
        node("a", "core.noop"),
        node("b", "core.transform", config={"expression": "ports.input * 2.0"}),
    ]
    edges = [edge("switch", "a", sourceOutput="one"), edge("switch", "b", sourceOutput="two")]
    assert outputs(workflow(nodes, edges))["b"] == {"output": 4}


def test_a_loop_runs_its_body_so_often() -> None:
    add = {"value": expression("variables.n + 2.0")}
    nodes = [
        node("head", "core.loop", config={"times": 3}),
        node("body", "core.setVariable", config={"name": "n"}, inputs=add),
        node("read", "core.getVariable", config={"name": "n"}),
    ]
    edges = [edge("head", "body", sourceOutput="body"), edge("body", "head"), edge("head", "read", sourceOutput="done")]
    document = workflow(nodes, edges, [variable("n", "number", defaultValue=0)])
    assert outputs(document) == {"read": {"output": 6}}


def test_a_list_is_filtered_mapped_and_summed() -> None:
    lines = [{"price": price, "amount": 2} for price in (1, 20, 3)]
    body = {
        "typeId": "core.transform",
        "config": {"expression": "ports.price * ports.factor"},
        "inputs": {"price": expression("item.price"), "factor": static(10)},
    }
    nodes = [
        node("filter", "core.filter", config={"expression": "item.price < 10.0"}, inputs={"items": static(lines)}),
        node("map", "core.flow.map", config={"body": body}),
        node("sum", "core.aggregate", config={"operation": "sum"}),
    ]
    edges = [edge("filter", "map"), edge("map", "sum", sourceOutput="results")]
    assert outputs(workflow(nodes, edges)) == {"sum": {"output": 40, "count": 2}}


async def test_the_answer_to_a_question_is_its_output() -> None:
    bench = EngineHarness()
    ask = node("ask", "core.interrupt", config={"kind": "custom", "data": {"customKind": "choose"}})
    key = await bench.start(workflow([ask]))
    await run_ready_tasks()
    (asked,) = await bench.payloads(key, "interrupt.requested")
    assert asked == {"kind": "custom", "key": "ask", "data": {"customKind": "choose"}}
    assert await bench.status(key) == "waiting-input"
    await bench.answer(key, ["north"])
    await bench.run_to_end(key)
    (completed,) = await bench.payloads(key, "run.completed")
    assert completed["outputs"] == {"ask": {"output": ["north"]}}


async def test_a_map_goes_on_after_a_crash_with_what_is_not_recorded() -> None:
    first = EngineHarness()
    body = {"typeId": "core.delay", "inputs": {"delayMs": expression("item")}}
    config = {"items": [1_000, 2_000, 3_000, 4_000], "body": body, "concurrency": 2}
    key = await first.start(workflow([node("map", "core.flow.map", config=config)]))
    await run_ready_tasks()
    first.clock.advance(2_000)
    await until(lambda: first.clock.next_wake == first.clock.now() + 3_000)
    await run_ready_tasks()
    assert [item["index"] for item in await first.payloads(key, "weftwork.map.item")] == [0, 1]
    second = await first.restart()
    await second.run_to_end(key)
    items = await second.payloads(key, "weftwork.map.item")
    assert sorted(item["index"] for item in items) == [0, 1, 2, 3]
    (completed,) = await second.payloads(key, "run.completed")
    assert completed["outputs"] == {"map": {"results": [{}] * 4, "count": 4}}
    assert (await second.event_types(key)).count("node.started") == 1


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("core.conditional", {"expression": "item"}, "/expression"),
    ("core.loop", {"while": "iteration <"}, "/while"),
    ("core.filter", {"expression": "items"}, "/expression"),
    ("core.transform", {"fields": {"a": "ports.x", "b": "unknown"}}, "/fields/b"),
    ("core.template", {"template": "{{nothing}}"}, "/template"),
    ("core.log", {"message": "m", "fields": {"a": "nothing"}}, "/fields/a"),
    ("core.flow.map", {"body": {"typeId": "core.nothing"}}, "/body/typeId"),
    (
        "core.flow.map",
        {"body": {"typeId": "core.noop", "inputs": {"a": expression("it")}}},
        "/body/inputs/a/expression",
    ),
    ("core.flow.map", {"body": {"typeId": "core.template", "config": {}}}, "/body/config"),
    ("core.flow.map", {"body": {"typeId": "core.template", "config": {"template": "{{x}}"}}}, "/body/config/template"),
]


@pytest.mark.parametrize(("type_id", "config", "pointer"), REFUSED)
async def test_a_mistake_is_found_when_the_definition_is_registered(type_id: str, config: Any, pointer: str) -> None:
    bench = await EngineHarness().open()
    violations = await bench.catalog.register(workflow([node("a", type_id, config=config)]))
    assert [each.pointer for each in violations] == [f"/nodes/0/config{pointer}"]


BROKEN: dict[str, dict[str, Any]] = {
    "core.transform": {"expression": "variables.none.x"},
    "core.filter": {"items": [1], "expression": "variables.none.x"},
}


@pytest.mark.parametrize("as_item", [False, True], ids=["node", "item"])
@pytest.mark.parametrize("type_id", BROKEN)
async def test_an_expression_at_fault_fails_an_instant_and_a_waiting_node(type_id: str, as_item: bool) -> None:
    made = node("a", type_id, config=BROKEN[type_id])
    if as_item:
        body = {"typeId": type_id, "config": BROKEN[type_id]}
        made = node("a", "core.flow.map", config={"items": [1], "body": body})
    bench = EngineHarness()
    key = await bench.start(workflow([made]))
    await bench.run_to_end(key)
    (failed,) = await bench.payloads(key, "node.failed")
    error = failed["error"]
    assert (error["details"]["code"] if as_item else error["code"]) == "expression_failed"
    assert "There is no member `none`." in error["message"]
