"""Sensitive values: in no event, row, document, snapshot or question, and yet where the nodes need them."""

from typing import Any

import msgspec
import pytest

from tests.engine.host.test_failures import FlakyLog
from tests.harness.cases import each_case
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, run, run_ready_tasks, until
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall
from weftwork.ports.storage.run_queries import InterruptQuery, RunQuery
from weftwork.protocol.json import schema
from weftwork.protocol.privacy import redaction, value_paths
from weftwork.protocol.privacy.secret_matcher import redaction_marker
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.workflow.node_types import NodeDeclaration

CANARY = "canary-e1c4"
SECOND = "canary-of-a-node"


def from_variable(name: str) -> dict[str, Any]:
    return {"x": {"type": "variable", "variableName": name}}


class RecordingNodes:
    """Node types that keep what they were given, make a secret of their own, or fail with one in their words."""

    def __init__(self) -> None:
        self.given: list[dict[str, Any]] = []

    def types(self) -> tuple[InstantNode, ...]:
        return (
            InstantNode(NodeDeclaration("test.witness", "Keeps its inputs."), self._witness),
            InstantNode(NodeDeclaration("test.mint", "Makes a secret."), self._mint),
            InstantNode(NodeDeclaration("test.tell", "Fails with its input."), self._tell),
        )

    def _witness(self, call: NodeCall) -> NodeOutcome:
        self.given.append(call.inputs)
        return Completed(call.inputs)

    def _mint(self, call: NodeCall) -> NodeOutcome:
        return Completed({"out": SECOND, "open": 7})

    def _tell(self, call: NodeCall) -> NodeOutcome:
        return Failed("told", f"It was {call.inputs['x']}.", {"value": [call.inputs["x"]]})


DOCUMENT = workflow(
    [
        node("first", "core.identity", inputs=from_variable("secret")),
        node("gate", "test.gate"),
        node("mint", "test.mint", outputSensitivity={"out": True}),
        node("last", "test.witness", inputs={"y": {"type": "connection", "nodeId": "first", "outputKey": "x"}}),
        node("tell", "test.tell", inputs=from_variable("secret")),
    ],
    [
        edge("first", "gate"),
        edge("mint", "gate"),
        edge("gate", "last"),
        edge("mint", "last", sourceOutput="out", targetInput="minted"),
        edge("last", "tell"),
    ],
    [variable("secret", sensitive=True), variable("plain")],
)
INPUTS = {"secret": CANARY, "plain": f"<{CANARY}>", "deep": {"er": [CANARY]}}


async def everything_shown(bench: EngineHarness, key: RunKey) -> str:
    """All that a reader can get of a run, and all that the store keeps outside of its hidden values."""
    shown = [event.document for event in await bench.events(key)]
    shown += [event.payload for event in await bench.events(key)]
    shown.append(msgspec.json.encode(await bench.service.get_run(CALLER, key.run_id)))
    shown.append(msgspec.json.encode(await bench.stored_run(key)))
    shown.append(repr(await bench.executor.read_run(key)).encode())
    shown.append(msgspec.json.encode(await bench.service.list_runs(CALLER, RunQuery())))
    shown.append(msgspec.json.encode(await bench.service.run_spans(CALLER, key.run_id)))
    return b"\n".join(shown).decode()


async def at_the_gate(bench: EngineHarness) -> None:
    await until(lambda: bench.gate_node.waiting)


async def through_the_gate(bench: EngineHarness, key: RunKey) -> None:
    await at_the_gate(bench)
    assert CANARY not in await everything_shown(bench, key)
    assert SECOND not in await everything_shown(bench, key)
    await bench.run_to_end(key, release="gate")


@pytest.mark.rule("hide-02", "hide-03", "hide-04")
@pytest.mark.parametrize("restarts", [0, 1, 2])
async def test_a_secret_reaches_the_nodes_and_nobody_else(restarts: int) -> None:
    witness = RecordingNodes()
    bench, key = await EngineHarness(*witness.types()).with_run(DOCUMENT, inputs=INPUTS)
    for _ in range(restarts):
        await at_the_gate(bench)
        await bench.crash()
        bench = bench.successor()
        assert await bench.executor.recover() == 1
    await through_the_gate(bench, key)
    shown = await everything_shown(bench, key)
    assert CANARY not in shown
    assert SECOND not in shown
    assert witness.given == [{"y": CANARY, "minted": SECOND}]
    completed = {each["nodeId"]: each["outputs"] for each in await bench.payloads(key, "node.completed")}
    assert completed["first"] == {"x": redaction_marker("first.x")}
    assert completed["mint"] == {"out": redaction_marker("mint.out"), "open": 7}
    assert completed["last"] == {"y": redaction_marker("last.y"), "minted": redaction_marker("last.minted")}
    (failed,) = await bench.payloads(key, "run.failed")
    told = {
        "code": "told",
        "message": f"It was {redaction_marker('secret')}.",
        "details": {"redacted": redaction_marker("tell.error")},
    }
    assert failed["error"] == told
    snapshot = msgspec.json.decode(msgspec.json.encode(await bench.service.get_run(CALLER, key.run_id)))
    assert schema.check("run-snapshot", snapshot) == []
    assert snapshot["nodeStates"]["tell"] == {"status": "failed", "attempt": 1, "error": told}
    hidden = {
        "secret": redaction_marker("secret"),
        "plain": f"<{redaction_marker('secret')}>",
        "deep": {"er": [redaction_marker("secret")]},
    }
    assert (snapshot["variables"], snapshot["inputs"]) == (hidden, hidden)
    for event in await bench.events(key):
        assert schema.check_payload(event.type, msgspec.json.decode(event.payload)) == []


SHAPES: dict[str, tuple[str, Any, list[str]]] = {
    "text": ("string", CANARY, [CANARY]),
    "number": ("number", 8_812_345_677, ["8812345677"]),
    "fraction": ("number", 0.8812345677, ["8812345677"]),
    "flag": ("boolean", True, ["true", "True"]),
    "object": ("object", {"name-8812": {"deep": [8_812_345_677]}}, ["name-8812", "8812345677"]),
    "array": ("array", [[8_812_345_677], {"name-8812": CANARY}], ["name-8812", "8812345677", CANARY]),
}


def flows(kind: str) -> dict[str, dict[str, Any]]:
    """Ways from a sensitive source to the node `last`; in each of them `open` has nothing to do with it."""
    variables = [variable("secret", kind, sensitive=True), variable("plain", "number")]
    start = node("a", "core.identity", inputs=from_variable("secret"))
    declared = node("a", "test.pass", outputSensitivity={"given": True})
    last = node("last", "test.witness")
    reads = node("last", "test.witness", inputs={"y": {"type": "connection", "nodeId": "a", "outputKey": "x"}})
    opened = node("open", "core.identity", inputs=from_variable("plain"))
    carries = {"sourceOutput": "x", "targetInput": "x"}
    hops = [node(name, "core.identity") for name in "bcd"]
    chain = [edge(*pair, **carries) for pair in ("ab", "bc", "cd")]
    found = {
        "variable": ([node("last", "test.witness", inputs=from_variable("secret")), opened], []),
        "connection": ([start, reads, opened], [edge("a", "last", targetInput="other")]),
        "edge": ([start, last, opened], [edge("a", "last", **carries)]),
        "hops": ([start, *hops, last, opened], [*chain, edge("d", "last", **carries)]),
        "declared": ([declared, last, opened], [edge("a", "last", sourceOutput="given")]),
    }
    return {name: workflow(nodes, edges, variables) for name, (nodes, edges) in found.items()}


@pytest.mark.rule("hide-02", "hide-03")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("flow", ["variable", "connection", "edge", "hops", "declared"])
async def test_a_value_of_any_type_flows_unseen(flow: str, shape: str) -> None:
    kind, secret, words = SHAPES[shape]
    witness = RecordingNodes()
    giver = InstantNode(NodeDeclaration("test.pass", "Gives the secret."), lambda call: Completed({"given": secret}))
    bench = EngineHarness(*witness.types(), giver)
    # For the declared output the variable has a value of its own.
    inputs = {"plain": 41} if flow == "declared" else {"plain": 41, "secret": secret}
    key = await bench.execute(flows(kind)[flow], inputs=inputs)
    (given,) = witness.given
    assert secret in given.values()
    shown = await everything_shown(bench, key)
    documents = b"".join(event.document for event in await bench.events(key)).decode()
    assert not [word for word in words if word in (documents if shape == "flag" else shown)]
    completed = {each["nodeId"]: each["outputs"] for each in await bench.payloads(key, "node.completed")}
    assert completed["open"] == {"x": 41}
    assert completed["last"] == {port: redaction_marker(f"last.{port}") for port in given}
    assert (await bench.payload(key, "run.completed"))["outputs"] == {"last": completed["last"], "open": {"x": 41}}


async def shown_of(secret: str) -> tuple[str, str]:
    """All that a reader gets of the same run with another secret, at its gate and at its end."""
    bench = EngineHarness(*RecordingNodes().types())
    key = await bench.start(DOCUMENT, inputs={"secret": secret, "plain": "p"})
    await at_the_gate(bench)
    before = await everything_shown(bench, key)
    await bench.run_to_end(key, release="gate")
    return before, await everything_shown(bench, key)


WORDS = ["completed", "running", "failed", "core", "core.identity", "sample", "first", "tell", "acme", "told", "secret"]


@pytest.mark.rule("hide-03")
@each_case("word", *WORDS, "REDACTED", "[REDACTED:secret]", "status", "node.failed", "2024", "error")
def test_nothing_but_values_depends_on_the_secret(word: str) -> None:
    assert run(lambda: shown_of(word)) == run(lambda: shown_of("harmless"))


@pytest.mark.rule("hide-04")
async def test_a_marker_that_a_caller_typed_stays_a_text() -> None:
    witness = RecordingNodes()
    document = workflow(
        [node("gate", "test.gate"), node("last", "test.witness", inputs=from_variable("plain"))],
        [edge("gate", "last")],
        [variable("secret", sensitive=True), variable("plain")],
    )
    bench = EngineHarness(*witness.types())
    key = await bench.start(document, inputs={"secret": CANARY, "plain": redaction_marker("secret")})
    await at_the_gate(bench)
    bench = await bench.restart()
    await through_the_gate(bench, key)
    assert witness.given == [{"x": redaction_marker("secret")}]


async def test_a_default_that_is_sensitive_is_hidden_too() -> None:
    witness = RecordingNodes()
    document = workflow(
        [node("a", "test.witness", inputs=from_variable("secret"))],
        None,
        [variable("secret", sensitive=True, defaultValue=CANARY)],
    )
    bench, key = await EngineHarness(*witness.types()).with_ended_run(document)
    assert witness.given == [{"x": CANARY}]
    assert CANARY not in await everything_shown(bench, key)


async def test_a_rewound_run_still_hides() -> None:
    witness = RecordingNodes()
    bench = EngineHarness(*witness.types(), wrap=FlakyLog)
    bench.log.plan = {1: "down", 3: "lost", 4: "down"}
    key = await bench.start(DOCUMENT, inputs=INPUTS)
    await run_ready_tasks()
    bench.clock.advance(1000)
    await through_the_gate(bench, key)
    assert witness.given[-1] == {"y": CANARY, "minted": SECOND}
    assert CANARY not in await everything_shown(bench, key)


async def test_without_the_redactor_the_secret_would_be_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction.Redactor, "hide_payload", lambda self, kind, node_id, payload: (payload, []))
    witness = RecordingNodes()
    bench, key = await EngineHarness(*witness.types()).with_run(DOCUMENT, inputs=INPUTS)
    await at_the_gate(bench)
    assert CANARY in await everything_shown(bench, key)


def test_a_search_in_names_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(value_paths.VALUE_MEMBERS, "node.started", ("typeId",))
    assert run(lambda: shown_of("core")) != run(lambda: shown_of("harmless"))


SECRET = "4711-secret"
HIDDEN = [variable("pin", sensitive=True)]
PIN = {"x": {"type": "variable", "variableName": "pin"}}


async def everything(bench: EngineHarness, key: RunKey) -> bytes:
    """All that anybody can see of a run, with every payload in its shape."""
    events = await bench.events(key)
    for event in events:
        assert schema.check_payload(event.type, msgspec.json.decode(event.payload)) == [], event.type
    listed = await bench.store.queries.list_interrupts(key.partition, InterruptQuery())
    rows = (await bench.stored_run(key)).rows
    return b"".join(
        [*(event.document for event in events), *(row.value for row in rows), *(each.row for each in listed.interrupts)]
    )


async def asked(*nodes: dict[str, Any], edges: list[dict[str, Any]] | None = None) -> tuple[EngineHarness, RunKey]:
    bench, key = await EngineHarness().with_run(workflow(list(nodes), edges or [], HIDDEN), inputs={"pin": SECRET})
    assert SECRET.encode() not in await everything(bench, key)
    return bench, key


async def newest(bench: EngineHarness, key: RunKey) -> dict[str, Any]:
    return (await bench.payloads(key, "interrupt.requested"))[-1]["data"]


@pytest.mark.rule("hide-03")
async def test_questions_that_hold_a_secret_keep_their_shape_and_lose_their_words() -> None:
    questions = [
        {"id": "q1", "question": "Is {{variables.pin}} right?", "schema": {"enum": ["yes", "no"]}},
        {"id": "q2", "question": "And now?"},
    ]
    bench, key = await asked(node("ask", "core.clarificationGate", config={"questions": questions}, inputs=PIN))
    assert [each["id"] for each in (await newest(bench, key))["questions"]] == ["q1", "q2"]
    assert await bench.answer(key, {"answers": {"q1": "yes", "q2": f"use {SECRET}"}}) == "completed"
    assert SECRET.encode() not in await everything(bench, key)
    assert set((await bench.payload(key, "clarification.resolved"))["answers"]) == {"q1", "q2"}


@pytest.mark.rule("hide-03")
async def test_what_stands_in_the_definition_is_shown_beside_what_is_hidden() -> None:
    gate = {"title": "Pay it?", "description": "To {{variables.pin}}", "actions": ["accept", "reject"]}
    bench, key = await asked(node("ask", "core.approvalGate", config=gate, inputs=PIN))
    shown = await newest(bench, key)
    assert (shown["title"], shown["actions"]) == ("Pay it?", ["accept", "reject"])
    assert "REDACTED" in shown["description"]


@pytest.mark.rule("hide-03")
async def test_a_decision_about_a_secret_hides_no_word_that_later_gates_need() -> None:
    first = {"title": "Use {{variables.pin}}?", "approversList": ["alice"], "actions": ["accept", "reject"]}
    second = {**first, "title": "Really?", "actions": ["accept", "edit-accept"]}
    nodes = [node("a", "core.approvalGate", config=first), node("b", "core.approvalGate", config=second)]

    from weftwork.protocol.people.approvals import Answerer

    bench, key = await asked(*nodes, edges=[edge("a", "b")])
    alice = Answerer("key_1", frozenset({"alice"}))
    await bench.answer(key, {"action": "accept", "comment": f"yes, {SECRET}"}, "a", alice)
    for again in (bench, bench.successor()):
        shown = await newest(again, key)
        assert (shown["actions"], shown["approversList"]) == (["accept", "edit-accept"], ["alice"])
    (received,) = await bench.payloads(key, "approval.received")
    assert (received["action"], received["decidedBy"]) == ("accept", "alice")
    await bench.crash()
    bench = bench.successor()
    assert await bench.answer(key, {"action": "accept"}, "b", alice) == "completed"
    assert SECRET.encode() not in await everything(bench, key)
    assert (await bench.payloads(key, "interrupt.resolved"))[-1]["resumeValue"]["action"] == "accept"


async def test_an_event_is_matched_though_its_correlation_is_hidden() -> None:
    ask = node(
        "ask",
        "core.interrupt",
        config={"kind": "external-event", "data": {"eventType": "paid"}},
        inputs={"correlation": {"type": "variable", "variableName": "order"}},
    )
    document = workflow([ask], [], [variable("order", "object", sensitive=True)])
    bench, key = await EngineHarness().with_run(document, inputs={"order": {"id": SECRET}})
    assert SECRET.encode() not in await everything(bench, key)
    assert set((await newest(bench, key))["correlation"]) == {"id"}
    await bench.crash()
    bench = bench.successor()
    assert await bench.answer(key, {"id": SECRET, "more": 1}) == "completed"
    assert SECRET.encode() not in await everything(bench, key)
