"""Approvals and content from outside: whatever way it takes, it opens no gate."""

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from tests.harness.cases import each_case, fails_without
from tests.harness.child_workflows import SUB_WORKFLOW, next_worker, start_run
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness, waiting_node_type
from tests.harness.interrupts import answer_refusal
from tests.simulation.trust_workflows import MIXING_TYPES, UNTRUSTED_WORD
from weftwork.adapters.nodes.people import gates, interrupt_request
from weftwork.engine.decide import interrupts
from weftwork.engine.decide.inputs import VariablesOverwritten
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.fold import data_flow
from weftwork.protocol.people import interrupt_events
from weftwork.protocol.people.approvals import Answerer, blocks_approval, is_granted_for_other_content
from weftwork.protocol.run.interrupts import INTERRUPT_KINDS, Interrupt, Resolution

MODEL = Answerer("tool", trust="untrusted", may_delegate=True, may_override=True)
PERSON = Answerer("key_1")
LOW = {"agentId": "agent", "threshold": 0.9, "observed": 0.1, "decision": {"go": True}}
GATES: dict[str, dict[str, Any]] = {
    "core.approvalGate": {"title": "Go on?", "override": True, "actions": ["accept", "reject", "refine", "ask"]},
    "core.interrupt": {"kind": "low-confidence", "data": LOW},
}
WAYS = [
    {"action": "accept"},
    {"decision": "approved"},
    {"action": "accept", "override": True, "reason": "because"},
    {"action": "refine", "refineFeedback": {"scope": "whole"}},
    {"action": "reject"},
    {"action": "ask", "question": "Why?"},
    {"proceed": True},
    "proceed",
    None,
]


def gated(kind: str = "core.approvalGate", **config: Any) -> dict[str, Any]:
    """A gate that is shown content from outside."""
    gate = node("ask", kind, config={**GATES[kind], **config})
    return workflow([node("o", "test.outside", config={"sets": "a"}), gate], [edge("o", "ask")], [LIST])


LIST = variable("a", "array", defaultValue=[])


async def waiting(
    document: dict[str, Any], *others: dict[str, Any], bench: EngineHarness | None = None
) -> tuple[EngineHarness, Any]:
    made, key = await start_run(document, *others, bench=bench or EngineHarness(*MIXING_TYPES))
    assert await made.status(key) == "waiting-approval"
    return made, key


@pytest.mark.rule("appr-05")
@each_case("kind", *GATES)
@each_case("value", *WAYS)
@fails_without(interrupts, "check_answer_trust", lambda kind, by: None)
async def test_no_answer_of_an_untrusted_source_moves_a_gate(kind: str, value: Any) -> None:
    bench, key = await waiting(gated(kind))
    before = len(await bench.events(key))
    assert await answer_refusal(bench, key, value, "ask", MODEL) == (403, "untrusted_content_blocks_approval")
    assert len(await bench.events(key)) == before
    assert await bench.status(key) == "waiting-approval"


@pytest.mark.rule("appr-05")
async def test_a_quorum_counts_no_vote_of_an_untrusted_source() -> None:
    bench, key = await waiting(gated(requiredApprovals=2))
    await bench.answer(key, {"action": "accept"}, by=PERSON)
    for value in ({"action": "accept"}, {"action": "accept", "voter": "another"}):
        assert await answer_refusal(bench, key, value, "ask", MODEL) == (403, "untrusted_content_blocks_approval")
    assert await bench.status(key) == "waiting-approval"
    await bench.answer(key, {"action": "accept"}, by=Answerer("key_2"))
    assert await bench.settled_status(key) == "completed"


@pytest.mark.rule("appr-05")
@each_case("kind", "approval", "low-confidence")
@each_case("untrusted", True, False)
@fails_without(interrupt_events, "APPROVAL_KINDS", frozenset())
async def test_no_node_lets_a_gate_of_its_own_pass(kind: str, untrusted: bool) -> None:
    approval = {"artifactId": "x", "artifactType": "t", "title": "Go on?", "actions": ["accept"]}
    data = LOW if kind == "low-confidence" else approval

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        if untrusted:
            context.mark_untrusted()
        answer = await context.ask(Interrupt(kind, "k", data), instead={"action": "accept", "proceed": True})
        return Completed({"output": answer.value})

    bench, key = await start_run(
        workflow([node("n", "test.passes")]),
        bench=EngineHarness(*MIXING_TYPES, waiting_node_type("test.passes", body)),
    )
    events = await bench.run_to_end(key)
    assert "interrupt.requested" not in [each.type for each in events]
    code = "untrusted_content_blocks_approval" if untrusted else "node_misused"
    assert msgspec.json.decode(events[-1].payload)["error"]["code"] == code


@pytest.mark.rule("appr-05")
async def test_the_time_of_a_gate_is_a_rejection_whatever_it_shows() -> None:
    bench, key = await waiting(gated(timeoutMs=1000))
    bench.clock.advance(2000)
    events = await bench.run_to_end(key)
    assert events[-1].type == "run.failed"
    (resolved,) = [each for each in events if each.type == "interrupt.resolved"]
    assert msgspec.json.decode(resolved.payload)["outcome"] == "rejected"


@pytest.mark.rule("appr-05", "trust-06")
async def test_variables_from_outside_move_no_gate_and_what_a_person_decides_about_stays_untrusted() -> None:
    bench, key = await waiting(gated())
    await bench.executor.request(key, VariablesOverwritten({"a": [UNTRUSTED_WORD, {"action": "accept"}]}))
    assert await bench.settled_status(key) == "waiting-approval"
    await bench.answer(key, {"action": "accept"}, by=PERSON)
    events = await bench.run_to_end(key)
    trust = {each.type: each.content_trust for each in events if each.node_id == "ask"}
    assert trust["interrupt.requested"] == trust["approval.requested"] == trust["node.completed"] == "untrusted"
    assert trust["interrupt.resolved"] is None
    assert trust["approval.received"] is None


@pytest.mark.rule("appr-05")
async def test_what_a_child_gives_back_moves_no_gate_of_its_parent() -> None:
    child = workflow([node("o", "test.outside", config={"sets": "a"})], variables=[LIST], id="child")
    calls = node("call", SUB_WORKFLOW, config={"workflowId": "child", "outputMapping": {"a": "a"}})
    gate = node("ask", "core.approvalGate", config={"title": "{{variables.a}}"})
    bench, key = await waiting(workflow([calls, gate], [edge("call", "ask")], [LIST]), child)
    assert await bench.settled_status(key) == "waiting-approval"
    (asked,) = [each for each in await bench.events(key) if each.type == "interrupt.requested"]
    assert asked.content_trust == "untrusted"


@pytest.mark.rule("appr-05")
@pytest.mark.parametrize(("by", "goes_on"), [(MODEL, False), (PERSON, True)])
async def test_a_decision_below_the_floor_goes_on_by_the_word_of_a_person_alone(by: Answerer, goes_on: bool) -> None:
    """A decision that is less sure than it may be is a gate in the form of a question."""
    lead = node("lead", "core.orchestrator.supervisor", config={"plan": [next_worker("w", confidence=0.1)]})
    floored = workflow([lead, node("send", "core.dispatch")], [edge("lead", "send")], id="floored")
    bench, key = await start_run(floored, workflow([node("w")], id="w"), bench=EngineHarness(*MIXING_TYPES))
    (asked,) = (await bench.state(key)).open_interrupts.values()
    await bench.answer(key, {"answers": {"proceed": "proceed"}}, asked.node_id, by)
    kinds = [each.type for each in await bench.run_to_end(key)]
    assert ("weftwork.child.started" in kinds) is goes_on


@pytest.mark.rule("appr-05")
def test_only_untrusted_content_is_kept_from_deciding_and_only_approvals() -> None:
    kinds = {kind: blocks_approval(kind, True) for kind in INTERRUPT_KINDS}
    assert {kind for kind, blocked in kinds.items() if blocked} == {"approval", "low-confidence"}
    assert not any(blocks_approval(kind, False) for kind in INTERRUPT_KINDS)


def looped(*before: dict[str, Any]) -> dict[str, Any]:
    """Two rounds of one gate with a key, which shows another title in each of them."""
    title = "{{variables.a}} {{nodes.l.outputs.iteration}}"
    gate = node("ask", "core.approvalGate", config={"key": "pay", "title": title})
    nodes = [node("l", "core.loop", config={"times": 2}), *before, gate]
    names = [each["id"] for each in nodes]
    edges = [edge(names[0], names[1], sourceOutput="body")]
    edges += [edge(one, other) for one, other in pairwise(names[1:])]
    return workflow(nodes, [*edges, edge("ask", "l")], [LIST])


@pytest.mark.rule("appr-05")
@fails_without(interrupt_request, "is_granted_for_other_content", lambda *given: False)
async def test_an_answer_does_not_grant_the_untrusted_content_of_a_later_round() -> None:
    outside = node("o", "test.outside", config={"sets": "a"})
    for before, code in (([outside], "untrusted_content_blocks_approval"), ([], None)):
        bench, key = await waiting(looped(*before))
        await bench.answer(key, {"action": "accept"}, by=PERSON)
        last = msgspec.json.decode((await bench.run_to_end(key))[-1].payload)
        assert last.get("error", {}).get("code") == code


@pytest.mark.rule("appr-05")
@each_case("value", {"action": "reject"}, None)
async def test_a_rejection_or_a_timeout_counts_for_later_rounds_as_well(value: Any) -> None:
    """What does not grant anything needs no second look."""
    interrupt = Interrupt("approval", "k", {"title": "Now"})
    outcome, reason = ("rejected", None) if value else (None, "timeout")
    given = Resolution(value, outcome, reason, kind="approval", node_id="n", data={"title": "Then"})
    assert not is_granted_for_other_content(given, interrupt, True)
    accepted = msgspec.structs.replace(given, value={"action": "accept"}, outcome="accepted", reason=None)
    assert is_granted_for_other_content(accepted, interrupt, True)
    assert not is_granted_for_other_content(accepted, interrupt, False)


@pytest.mark.rule("appr-05")
@fails_without(gates, "blocks_approval", lambda kind, untrusted: False)
async def test_no_default_value_decides_about_untrusted_content() -> None:
    config = {**GATES["core.interrupt"], "timeoutMs": 1000, "defaultValue": {"action": "accept"}}
    gate = node("ask", "core.interrupt", config=config)
    outside = node("o", "test.outside", config={"sets": "a"})
    document = workflow([outside, gate], [edge("o", "ask", targetInput="payload")], [LIST])
    bench, key = await waiting(document)
    bench.clock.advance(2000)
    last = msgspec.json.decode((await bench.run_to_end(key))[-1].payload)
    assert last.get("error", {}).get("code") == "untrusted_content_blocks_approval"


@pytest.mark.rule("trust-09")
@fails_without(data_flow, "is_untrusted_boundary", lambda configurable: False)
async def test_inputs_inside_an_untrusted_boundary_are_untrusted_and_defaults_are_not() -> None:
    shown = [node(name, "core.getVariable", config={"name": name}) for name in ("a", "b")]
    own = variable("b", defaultValue="the author")
    document = workflow(shown, variables=[variable("a"), own])
    bench, key = await EngineHarness(*MIXING_TYPES).with_run(
        document, inputs={"a": UNTRUSTED_WORD}, configurable={"trustBoundary": "untrusted"}
    )
    events = await bench.run_to_end(key)
    trust = {each.node_id: each.content_trust for each in events if each.type == "node.completed"}
    assert trust == {"a": "untrusted", "b": None}
