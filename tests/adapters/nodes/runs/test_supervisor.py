"""core.orchestrator.supervisor on its own: one decision for each tick, and none without the confidence it needs."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.adapters.nodes.fake_context import TYPES, EvaluatingScope, node_call, run_node
from tests.adapters.nodes.runs.fake_runs import DispatchContext
from tests.harness.definitions import example_count
from weftwork.ports.node_outcome import Completed, EmitEvent, Failed, InterruptPending, NodeOutcome, Suspended
from weftwork.protocol.json import schema
from weftwork.protocol.json.caller_schema import check_caller_schema, check_value
from weftwork.protocol.run.events import ORCHESTRATOR_DECIDED
from weftwork.protocol.run.interrupts import Interrupt, Resolution
from weftwork.protocol.run.payloads import ConfidenceEscalated
from weftwork.protocol.workflow import orchestration
from weftwork.protocol.workflow.node_config import check_config

WORK = {"kind": "next-worker", "nextWorkerIds": ["a"]}
ASK = {"kind": "ask-user", "prompt": "Which?"}
END = {"kind": "terminate", "reason": "goal-reached"}
PENDING = {"mockConfidence": 0.5, "mockPendingDecision": WORK}


def tick(
    config: dict[str, Any],
    inputs: dict[str, Any] | None = None,
    *,
    number: int = 0,
    answers: Mapping[str, Any] | None = None,
    **members: Any,
) -> tuple[NodeOutcome, list[Any]]:
    """What a tick comes to, and what was said by the way. Every decision in it is well-formed."""
    scope = EvaluatingScope({}, {"found": ""})
    host = DispatchContext(scope)
    host.resolved = {key: Resolution(each, kind="low-confidence") for key, each in (answers or {}).items()}
    given_call = replace(node_call(config, inputs, scope, iteration=number), answers=host.resolved, **members)
    found: NodeOutcome
    try:
        found = run_node(orchestration.SUPERVISOR, given_call, host)
    except InterruptPending as asking:
        found = Suspended(asking.interrupt)
    if isinstance(found, Completed):
        (event,) = found.effects
        assert isinstance(event, EmitEvent)
        assert (event.type, event.event_id) == (ORCHESTRATOR_DECIDED, "event")
        assert schema.check_payload(event.type, event.payload) == []
        assert event.payload["decision"] == found.outputs["decision"]
        assert found.outputs["kind"] == found.outputs["decision"]["kind"]
        assert found.outputs["iteration"] == number
    return found, [*host.said, *(found.effects if isinstance(found, Suspended) else ())]


def decided(*arguments: Any, **members: Any) -> dict[str, Any]:
    found, said = tick(*arguments, **members)
    assert isinstance(found, Completed), found
    assert said == []
    return found.outputs["decision"]


def asked(*arguments: Any, **members: Any) -> Interrupt:
    found, _ = tick(*arguments, **members)
    assert isinstance(found, Suspended), found
    return found.interrupt


@pytest.mark.rule("orch-02")
@pytest.mark.parametrize("member", ["plan", "mockDispatchPlan", "mockDecisions"])
def test_a_plan_has_a_decision_for_each_tick_and_then_it_is_over(member: str) -> None:
    plan = [WORK, ASK, END]
    assert [decided({member: plan}, number=number) for number in range(3)] == plan
    assert decided({member: plan}, number=3)["kind"] == "terminate"
    assert decided({member: []})["kind"] == "terminate"


def test_without_a_word_one_worker_runs() -> None:
    assert decided({}) == {"kind": "next-worker", "nextWorkerIds": ["conformance-noop"]}
    assert decided({}, number=1)["kind"] == "terminate"


def test_an_expression_or_a_port_gives_the_decision_of_each_tick() -> None:
    config = {"decision": "iteration == 0.0 ? {'kind': 'ask-user', 'prompt': 'Q'} : {'kind': 'terminate'}"}
    assert decided(config) == {"kind": "ask-user", "prompt": "Q"}
    assert decided(config, number=1) == {"kind": "terminate"}
    assert decided({**config, "plan": []}, {"decision": WORK}) == WORK
    read = {"decision": "{'kind': 'next-worker', 'nextWorkerIds': [variables.found + ports.next]}"}
    assert decided(read, {"next": "b"})["nextWorkerIds"] == ["b"]


@pytest.mark.rule("orch-02")
def test_who_decides_is_the_agent_of_the_node_or_the_host() -> None:
    for agent, name in (({"agentId": "host:lead", "name": "Lead"}, "host:lead"), (None, "host:supervisor")):
        found, _ = tick({"plan": [WORK]}, agent=agent)
        assert isinstance(found, Completed)
        (event,) = found.effects
        assert isinstance(event, EmitEvent)
        assert event.payload["agentId"] == name


@pytest.mark.rule("orch-01")
@pytest.mark.parametrize(
    ("decision", "pointer"),
    [
        ({"kind": "dance"}, "/kind"),
        ({"kind": "next-worker"}, ""),
        ({"kind": "next-worker", "nextWorkerIds": []}, "/nextWorkerIds"),
        ({"kind": "next-worker", "nextWorkerIds": [1]}, "/nextWorkerIds/0"),
        ({"kind": "ask-user", "prompt": ""}, "/prompt"),
        ({"kind": "terminate", "prompt": "x"}, "/prompt"),
        ({"kind": "terminate", "confidence": 1.1}, "/confidence"),
        ("terminate", ""),
        (None, ""),
    ],
)
def test_what_is_no_decision_fails_the_node(decision: Any, pointer: str) -> None:
    found, said = tick({}, {"decision": decision})
    assert isinstance(found, Failed)
    assert (found.code, found.details, found.retryable) == ("decision_invalid", {"pointer": pointer}, False)
    assert said == []


def test_an_expression_at_fault_fails_the_node() -> None:
    for config in ({"decision": "variables.none.x"}, {"plan": [WORK], "confidence": "variables.none.x"}):
        found, _ = tick(config)
        assert isinstance(found, Failed)
        assert found.code == "expression_failed"


@pytest.mark.rule("orch-03")
def test_a_decision_of_low_confidence_is_not_decided_before_a_person_says_so() -> None:
    question = asked(PENDING, agent={"agentId": "host:lead"})
    assert (question.kind, question.key) == ("low-confidence", "node:confidence")
    assert question.data == {"agentId": "host:lead", "threshold": 0.7, "observed": 0.5, "decision": WORK}
    assert asked(PENDING, number=0, configurable={"escalationThreshold": 0.6}).data["threshold"] == 0.6
    accepted: list[Any] = [WORK, {"action": "accept"}, {"decision": "approved"}, {"decision": WORK}, True]
    for answer in accepted:
        assert decided(PENDING, answers={"node:confidence": answer}) == WORK
    for answer in (END, {"action": "accept", "decision": END}, {"decision": END}):
        assert decided(PENDING, answers={"node:confidence": answer}) == END
    for answer in ({"action": "reject"}, {"decision": "rejected"}, False):
        found, _ = tick(PENDING, answers={"node:confidence": answer})
        assert isinstance(found, Failed)
        assert (found.code, found.retryable) == ("interrupt_rejected", False)


@pytest.mark.rule("orch-03")
def test_only_what_can_be_decided_is_taken_as_an_answer() -> None:
    wanted = asked(PENDING).resume_schema
    assert wanted == orchestration.ratification_schema()
    assert check_caller_schema(wanted, "") == []
    answers: list[Any] = [WORK, {"action": "accept", "comment": "fine"}, {"action": "reject"}, {"decision": END}, True]
    assert [check_value(orchestration.ratification_schema(), each, "") for each in answers] == [[]] * 5
    bad: list[Any] = [None, "yes", 1, {}, {"kind": "dance"}, {"action": "maybe"}, {"decision": "perhaps"}, [WORK]]
    for each in bad:
        assert check_value(orchestration.ratification_schema(), each, ""), each


NAMES = ["action", "decision", "kind", "nextWorkerIds", "reason", "x"]
JSON = st.recursive(
    st.none() | st.booleans() | st.sampled_from(["accept", "reject", "approved", "terminate", "next-worker", "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.rule("orch-03")
@settings(max_examples=example_count(300), deadline=None)
@given(JSON)
def test_an_answer_that_is_taken_is_a_decision_or_a_refusal(answer: Any) -> None:
    if check_value(orchestration.ratification_schema(), answer, "") == []:
        found = orchestration.ratified_decision(answer, WORK)
        assert found is None or orchestration.check_decision(found) == []


def test_confidence_is_asked_for_by_an_expression_too() -> None:
    config = {"plan": [WORK, END], "confidence": "decision.kind == 'terminate' ? 0.2 : 0.9"}
    assert decided(config) == WORK
    assert asked(config, number=1).data["observed"] == 0.2
    # At the threshold it goes on, and what is no number says nothing.
    assert decided({"plan": [WORK], "confidence": "0.7"}) == WORK
    assert decided({"plan": [WORK], "confidence": "'low'"}) == WORK
    assert decided({**PENDING, "mockConfidence": 0.5}, configurable={"escalationThreshold": 0.5}) == WORK


def test_after_the_pending_decision_it_is_over() -> None:
    assert decided(PENDING, number=1)["kind"] == "terminate"
    assert asked({"mockConfidence": 0.1}).data["decision"]["nextWorkerIds"] == ["conformance-noop"]
    assert asked(PENDING | {"mockConfidence": 0}).key == "node:confidence"


@pytest.mark.rule("orch-06")
def test_an_end_below_the_floor_is_asked_about_before_it_is_decided() -> None:
    unsure = {"kind": "terminate", "confidence": 0.2}
    found, said = tick({"plan": [unsure]})
    assert isinstance(found, Suspended)
    assert (found.interrupt.kind, found.interrupt.key) == ("clarification", "node:floor")
    ((event,), kinds) = said, [each.type for each in said]
    assert kinds == [ConfidenceEscalated.event_type]
    assert schema.check_payload(ConfidenceEscalated.event_type, event.payload) == []
    assert "workerId" not in event.payload
    assert decided({"plan": [unsure]}, answers={"node:floor": {"answers": {"proceed": "proceed"}}}) == unsure
    refused, _ = tick({"plan": [unsure]}, answers={"node:floor": {"answers": {"proceed": "stop"}}})
    assert isinstance(refused, Failed)
    # One that names workers is asked about by the dispatch.
    assert decided({"plan": [{**WORK, "confidence": 0.2}]})["confidence"] == 0.2


def test_a_config_has_one_source() -> None:
    declaration = TYPES[orchestration.SUPERVISOR].declaration
    for config, pointer in (
        ({"plan": [], "decision": "1"}, "/plan"),
        ({"plan": [], "mockDecisions": []}, "/mockDecisions"),
        ({"mockDecisions": [], "mockPendingDecision": END}, "/mockPendingDecision"),
        ({"plan": [WORK, {"kind": "ask-user"}]}, "/plan/1"),
        ({"plan": [{**WORK, "nextWorkerIds": []}]}, "/plan/0/nextWorkerIds"),
    ):
        assert [each.pointer for each in check_config(declaration, config, "")] == [pointer]
