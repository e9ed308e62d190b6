"""The examples of the reference page, with real expressions: they do what the page says."""

import hashlib
from typing import Any

import pytest

from tests.adapters.nodes.ai.fake_model_context import FakeModelContext
from tests.adapters.nodes.fake_context import TYPES, EvaluatingScope, new_child, node_call, run_node
from tests.harness.cases import each_case
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks, until
from weftwork.adapters.nodes.builtin import ALIASES
from weftwork.adapters.nodes.people.conversation_gate import MOCK_ANSWER
from weftwork.conformance.nodes.media_emit import sample_media
from weftwork.conformance.nodes.mock_agent import SUMMARY
from weftwork.ports.node_outcome import (
    AppendLog,
    AwaitsChildren,
    Completed,
    EmitArtifact,
    EmitEvent,
    Failed,
    InterruptPending,
    NodeOutcome,
    SetVariable,
    StartChild,
    Suspended,
    WriteChannel,
)
from weftwork.ports.nodes import Arrival
from weftwork.protocol.envelopes.kinds import KindDefinition
from weftwork.protocol.expressions.expression import parse_expression
from weftwork.protocol.expressions.template import parse_template
from weftwork.protocol.json.pointers import split_pointer
from weftwork.protocol.run.events import ORCHESTRATOR_DECIDED
from weftwork.protocol.run.interrupts import Interrupt

ORDER = {"id": "o-7", "total": 120, "country": "DE", "missing": ["bolts"]}
DELIVERY = {
    "catalogVersion": "0.9.1",
    "surface": {
        "title": "Delivery",
        "components": [
            {"component": "text", "text": "Order o-7 is ready. When may it arrive?"},
            {"component": "field.date", "id": "day", "label": "Day", "required": True},
            {"component": "action.button", "id": "send", "label": "Send it", "action": {"target": "resume"}},
            {"component": "action.button", "id": "cancel", "label": "Cancel", "action": {"target": "resume"}},
        ],
    },
}
PEOPLE = [{"name": "Ada"}, {"name": "Bob"}]
RUN = {"city": "Bern", "state": "new", "attempts": 1, "month": "May", "order": ORDER, "people": PEOPLE}
INVOICE = {
    "artifactId": "node",
    "artifactType": "invoice",
    "title": "Pay invoice 17?",
    "actions": ["accept", "reject"],
    "requiredApprovals": 2,
    "approversList": ["ada", "bob", "eve"],
    "artifactData": {"number": 17},
}
QUESTIONS = [
    {"id": "when", "question": "When shall o-7 be delivered?"},
    {"id": "amount", "question": "How many?", "schema": {"type": "integer", "minimum": 1}},
]
PAID = {"eventType": "shop.order.paid", "correlation": {"orderId": "o-7"}}
TOTAL = {"total": 5}
SEARCH = {"kind": "next-worker", "nextWorkerIds": ["search"]}
MOCK = {"agentId": "host:mock-agent:node"}
CHILD = new_child("child", "check-order", {"order": ORDER}, variables=("verdict",), outputs=True)
TOLD = {
    "model": "scripted-1",
    "finishReason": "stop",
    "usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5},
}
SPOKEN = {
    "core.ai.callPrompt": "The lamp is broken.",
    "core.ai.chatCompletion": "We do.",
    "core.ai.structuredOutput": '{"article": "chair", "amount": 2}',
    "core.ai.generateEnvelope": '{"type": "vendor.example.ticket", "payload": '
    '{"title": "Broken lamp", "urgent": true}}',
}
"""What the model says in the examples that ask one."""


def emitted(data: bytes, media_type: str, display: str) -> dict[str, Any]:
    """The outputs of a node that shows these bytes."""
    named = {"bytes": len(data), "mimeType": media_type, "envelopeId": "env-1", "url": "https://media.test/1"}
    shown = {"rendering": {"display": display, "mimeType": media_type}}
    return {"mediaRef": "weftwork-asset:" + hashlib.sha256(data).hexdigest(), **named, **shown}


ANSWERS: dict[str, tuple[dict[str, Any], NodeOutcome]] = {
    "core.noop": ({}, Completed({})),
    "core.identity": ({"greeting": "hello"}, Completed({"greeting": "hello"})),
    "core.fail": ({}, Failed("out_of_stock", "The article is out of stock.")),
    "core.delay": ({}, Completed({})),
    "core.start": ({"order": ORDER}, Completed({"order": ORDER})),
    "core.end": (TOTAL, Completed(TOTAL)),
    "core.parallel": ({"input": 1}, Completed({"input": 1, "output": 1})),
    "core.conditional": ({"input": ORDER}, Completed({"result": True, "output": ORDER, "true": ORDER})),
    "core.switch": ({"input": ORDER}, Completed({"value": "DE", "output": ORDER, "neighbour": ORDER})),
    "core.loop": ({}, Completed({"iteration": 0, "body": 0})),
    "core.merge": ({}, Completed({"output": [1, 2]})),
    "core.wait": ({}, Completed({"until": "2027-01-01T08:00:00.000Z"})),
    "core.approvalGate": (
        {"artifactData": {"number": 17}},
        Suspended(Interrupt("approval", "node", INVOICE, None, 259_200_000, (86_400_000, 172_800_000))),
    ),
    "core.clarificationGate": (
        {},
        Suspended(Interrupt("clarification", "node", {"questions": QUESTIONS}, timeout_ms=86_400_000)),
    ),
    "core.interrupt": (
        {"correlation": {"orderId": "o-7"}},
        Suspended(Interrupt("external-event", "node", PAID, timeout_ms=3_600_000)),
    ),
    "core.ui.surface": (
        {"order": ORDER},
        Suspended(Interrupt("custom", "node", {"customKind": "ui.a2ui-surface"}, form=DELIVERY)),
    ),
    "core.conversationGate": (
        {},
        Completed(
            {
                "conversationId": "run:node:0",
                "turns": [
                    {"turnIndex": 1, "prompt": "When do you leave?", "answer": MOCK_ANSWER},
                    {
                        "turnIndex": 2,
                        "prompt": f"You said {MOCK_ANSWER}. When do you come back?",
                        "answer": MOCK_ANSWER,
                    },
                ],
                "outcome": MOCK_ANSWER,
            }
        ),
    ),
    "core.setVariable": ({"value": 2}, Completed({"output": 2}, (SetVariable("attempts", 2),))),
    "core.getVariable": ({}, Completed({"output": "en"})),
    "core.channelWrite": (
        {},
        Completed({"output": "arrived"}, (WriteChannel("events", "arrived", "append"),)),
    ),
    "core.transform": (
        {"input": {"first": "Ada", "last": "Byron", "age": 36}},
        Completed({"name": "Ada Byron", "adult": True}),
    ),
    "core.template": (
        {"input": {"name": "Ada"}},
        Completed({"output": "Dear Ada, your order has arrived."}),
    ),
    "core.filter": ({"items": [{"price": 5}, {"price": 10}]}, Completed({"output": [{"price": 5}], "count": 1})),
    "core.aggregate": (
        {"items": [{"price": 2.5, "amount": 2}, {"price": 1, "amount": 3}]},
        Completed({"output": 8, "count": 2}),
    ),
    "core.flow.map": (
        {"items": PEOPLE},
        Completed({"results": ["Ada is number 0", "Bob is number 1"], "count": 2}),
    ),
    "core.subWorkflow": ({}, AwaitsChildren((StartChild(CHILD),))),
    "core.orchestrator.supervisor": (
        {},
        Completed(
            {"decision": SEARCH, "kind": "next-worker", "iteration": 0},
            (EmitEvent(ORCHESTRATOR_DECIDED, {"agentId": "host:supervisor", "decision": SEARCH}, event_id="event"),),
        ),
    ),
    # What it does about a decision is in test_dispatch.
    "core.dispatch": (
        {},
        Failed(
            "no_pending_decision",
            "There is no decision to carry out: a core.orchestrator.supervisor must run before this node.",
            retryable=False,
        ),
    ),
    "core.conformance.mock-agent": (
        {},
        Completed(
            {"decision": {"next": "done"}},
            (
                EmitEvent("agent.reasoned", {**MOCK, "verbosity": "summary", "reasoning": SUMMARY, "summary": SUMMARY}),
                EmitEvent("agent.decided", {**MOCK, "decision": {"next": "done"}, "confidence": 0.9}),
            ),
        ),
    ),
    "core.log": (
        {"input": ORDER},
        Completed({"output": ORDER}, (AppendLog("warn", "Order o-7 waits for stock", {"missing": ["bolts"]}),)),
    ),
    "core.artifact.emit": (
        {"data": "text"},
        Completed(
            {"artifactId": "node", "artifactType": "report", "output": "text"},
            (EmitArtifact("node", "report", "text", "Report for May"),),
        ),
    ),
    "core.media.emit": (
        {"order": ORDER},
        Completed(emitted(b"Order;Total\no-7;120\n", "text/csv", "file")),
    ),
    "conformance.media.emit": (
        {},
        Completed(emitted(sample_media("image", 4096), "image/png", "image")),
    ),
    # What it sends with a client is in tests/outbound.
    "core.http.request": (
        {"order": ORDER},
        Failed("fetch_failed", "This host has no HTTP client, so it cannot send requests.", retryable=False),
    ),
    "core.ai.callPrompt": (
        {"letter": "It does not work."},
        Completed({"text": "The lamp is broken.", "content": "The lamp is broken.", **TOLD}),
    ),
    "core.ai.chatCompletion": (
        {"messages": [{"role": "user", "content": "Do you sell seeds?"}]},
        Completed({"content": "We do.", "message": {"role": "assistant", "content": "We do."}, **TOLD}),
    ),
    "core.ai.structuredOutput": (
        {"mail": "Two chairs, please."},
        Completed({"data": {"article": "chair", "amount": 2}, **TOLD}),
    ),
    "core.ai.generateEnvelope": (
        {"complaint": "It does not work!"},
        Completed(
            {
                "envelopeType": "vendor.example.ticket",
                "payload": {"title": "Broken lamp", "urgent": True},
                "envelopeId": "env-67d0ded6edd16ba2ecd009b9780a4d85",
                "contentTrust": "trusted",
                **TOLD,
            }
        ),
    ),
    # What it asks with templates is in test_mock_nodes.
    "local.sample.demo.mock-ai": (
        {},
        Failed(
            "prompt_ref_unresolved",
            "This host has no prompt template prompt:conformance.prompt.writer-system@1.0.0; "
            "add it to a folder of the setting prompts.",
            {"ref": "prompt:conformance.prompt.writer-system@1.0.0"},
            retryable=False,
        ),
    ),
    "conformance.modelCapability.insufficient": (
        {},
        Failed("host_invariant_broken", "The node ran although no model has a capability that the node requires."),
    ),
    "conformance.requiresMissing": (
        {},
        Failed(
            "host_invariant_broken",
            "The node ran although the host does not provide a capability that the node requires.",
        ),
    ),
    "local.sample.demo.uppercase": ({"text": "hello"}, Completed({"text": "HELLO", "output": "HELLO"})),
}


def test_every_example_is_tried() -> None:
    shown = {type_id for type_id, each in TYPES.items() if each.declaration.example_config is not None}
    assert shown <= ANSWERS.keys()
    assert not shown & ALIASES.keys()


@each_case("type_id", *ANSWERS)
def test_an_example_does_what_it_says(type_id: str) -> None:
    inputs, answer = ANSWERS[type_id]
    declaration = TYPES[type_id].declaration
    assert declaration.example_config is not None
    assert declaration.example_inputs.keys() <= inputs.keys()
    scope = EvaluatingScope({}, RUN)
    context = FakeModelContext(
        SPOKEN.get(type_id, ""), scope=scope, kinds=[KindDefinition("vendor.example.ticket", 1, {})]
    )
    context.clock.advance(366 * 86_400_000)
    arrivals = (Arrival("a", "output", 1), Arrival("b", "output", 2))
    call = node_call(declaration.example_config, inputs, scope, arrivals=arrivals)
    try:
        outcome = run_node(type_id, call, context)
    except InterruptPending as pending:
        outcome = Suspended(pending.interrupt)
    assert outcome == answer


def found(value: Any, path: list[str]) -> list[str]:
    """The texts that a pointer pattern leads to."""
    if not path:
        return [value]
    if isinstance(value, list):
        members = value if path[0] == "*" else []
    else:
        members = value.values() if path[0] == "*" else [value[path[0]]] if path[0] in value else []
    return [text for member in members for text in found(member, path[1:])]


@each_case("type_id", *ANSWERS)
def test_the_expressions_of_an_example_use_the_declared_names_only(type_id: str) -> None:
    """So a definition like it can be checked when it is registered."""
    declaration = TYPES[type_id].declaration
    for pointer, names in declaration.expressions.items():
        for source in found(declaration.example_config, split_pointer(pointer)):
            parse_expression(source, ("ports", *names))
    for pointer, names in declaration.templates.items():
        for text in found(declaration.example_config, split_pointer(pointer)):
            parse_template(text, ("ports", *names))
    for port in declaration.example_inputs.values():
        if port["type"] == "expression":
            parse_expression(port["expression"])


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


@each_case("total, way", (120, "large"), (80, "small"))
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


@each_case(
    "type_id, config, pointer",
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
)
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
