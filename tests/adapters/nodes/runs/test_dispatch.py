"""core.dispatch on its own: what it does about each decision, call by call."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.adapters.nodes.fake_context import TYPES
from tests.adapters.nodes.runs.fake_dispatch import UNKNOWN, DispatchCall, workers
from weftwork.ports.node_outcome import AwaitsChildren, Completed, EmitEvent, Failed, StartChild, Suspended
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.run.interrupts import Interrupt, Resolution
from weftwork.protocol.run.payloads import ConfidenceEscalated
from weftwork.protocol.workflow.node_config import check_config
from weftwork.protocol.workflow.registration import registration_refusal

PARALLEL = {"fanOutPolicy": "parallel"}


def begun(worker: str, index: int) -> list[str]:
    return [
        f"dispatch.began {worker}",
        f"start {index}",
        f"node.dispatched {worker}",
        f"dispatch.succeeded {worker}",
    ]


def failed(dispatch: DispatchCall) -> Failed:
    assert isinstance(dispatch.outcome, Failed)
    return dispatch.outcome


def completed(dispatch: DispatchCall) -> Completed:
    assert isinstance(dispatch.outcome, Completed)
    return dispatch.outcome


@pytest.mark.rule("orch-04")
def test_the_steps_of_a_handover_come_in_order() -> None:
    one = DispatchCall(workers("a"), {"outputMapping": {"mine": "theirs", "other": "unset"}})
    assert isinstance(one.call(), AwaitsChildren)
    assert one.call() == AwaitsChildren()
    one.end(0, theirs=7)
    one.call()
    assert one.event_steps() == [*begun("a", 0), "child.completed a", "mine = 7", "output.harvested a"]
    harvested = one.events[-1]
    assert isinstance(harvested, EmitEvent)
    assert harvested.payload == {
        "phase": "output.harvested",
        "workerId": "a",
        "parentRunId": "run",
        "childRunId": "run-0",
        "harvestedKeys": ["mine"],
    }
    assert completed(one).outputs == {
        "kind": "next-worker",
        "childRunId": "run-0",
        "childStatus": "completed",
        "results": [{"workerId": "a", "childRunId": "run-0", "childStatus": "completed"}],
    }


@pytest.mark.rule("orch-08")
@pytest.mark.rule("orch-09")
def test_what_one_worker_gives_the_next_one_gets() -> None:
    config = {
        "inputMapping": {"input": "start"},
        "perWorkerInputMappings": {"b": {"input": "shared", "more": "start"}},
        "perWorkerOutputMappings": {"a": {"shared": "output"}},
    }
    one = DispatchCall(workers("a", "b"), config)
    one.variables = {"start": 1, "shared": "old"}
    one.call()
    assert (one.inputs_of(0), len(one.children)) == ({"input": 1}, 1)
    one.end(0, output="hello", input="not asked for")
    one.call()
    assert one.inputs_of(1) == {"input": "hello", "more": 1}
    assert one.event_steps() == [
        *begun("a", 0),
        "child.completed a",
        "shared = hello",
        "output.harvested a",
        *begun("b", 1),
    ]
    one.end(1)
    one.call()
    assert one.event_steps()[-1] == "child.completed b"
    assert completed(one).outputs["childRunId"] == "run-1"
    wanted = [each.child.header.parent for each in one.events if isinstance(each, StartChild)]
    assert [(each.cause, each.variables) for each in wanted if each is not None] == [
        ("core.dispatch", ("output",)),
        ("core.dispatch", ()),
    ]


@pytest.mark.rule("orch-09")
@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_worker_that_does_not_complete_fails_the_node_and_is_not_harvested(status: str) -> None:
    one = DispatchCall(workers("a", "b", "c"), {"outputMapping": {"mine": "theirs"}})
    one.call()
    one.end(0, theirs=1)
    one.call()
    one.end(1, status)
    one.call()
    assert failed(one).code == f"child_run_{status}"
    details = failed(one).details or {}
    known = {"workerId": "b", "childRunId": "run-1", "childStatus": status}
    error = {"error": {"code": "busy", "message": "It was busy."}} if status == "failed" else {}
    assert details == {**known, **error}
    assert one.event_steps()[-1] == f"child.{status} b"
    assert (one.variables, len(one.children)) == ({"mine": 1}, 2)


def test_what_a_worker_hides_fails_the_node() -> None:
    one = DispatchCall(workers("a"), {"outputMapping": {"mine": "pin", "other": "free"}})
    one.call()
    one.end(0, free=1)
    one.children["0"] = replace(one.children["0"], hidden=("pin",))
    one.call()
    assert failed(one).code == "child_output_hidden"
    assert one.variables == {}


@pytest.mark.parametrize("config", [{}, PARALLEL])
def test_an_unknown_worker_fails_the_node(config: dict[str, Any]) -> None:
    one = DispatchCall(workers(UNKNOWN), config)
    one.call()
    assert (failed(one).code, failed(one).details) == ("unknown_child_workflow", {"workerId": UNKNOWN})
    assert one.event_steps() == [f"dispatch.began {UNKNOWN}", f"dispatch.failed {UNKNOWN}"]
    second = DispatchCall(workers("a", UNKNOWN), {**config, **({"maxParallel": 1} if config else {})})
    second.call()
    second.end(0)
    second.call()
    assert failed(second).code == "unknown_child_workflow"
    began = [f"dispatch.began {UNKNOWN}", f"dispatch.failed {UNKNOWN}"]
    assert second.event_steps() == [*begun("a", 0), "child.completed a", *began]
    harvests = DispatchCall(workers("a", UNKNOWN), {"outputMapping": {"mine": "theirs"}})
    harvests.call()
    harvests.end(0, theirs=7)
    harvests.call()
    assert harvests.event_steps()[4:] == ["child.completed a", "mine = 7", "output.harvested a", *began]
    assert harvests.variables == {"mine": 7}


def test_the_same_worker_twice_is_two_runs() -> None:
    for config in ({}, PARALLEL):
        one = DispatchCall(workers("a", "a"), config)
        one.call()
        for index in (0, 1):
            one.end(index)
            one.call()
        assert [each["childRunId"] for each in completed(one).outputs["results"]] == ["run-0", "run-1"]


def test_several_workers_are_refused_where_the_author_says_so() -> None:
    one = DispatchCall(workers("a", "b"), {"fanOutPolicy": "reject"})
    one.call()
    assert (failed(one).code, one.events) == ("fan_out_unsupported", [])
    single = DispatchCall(workers("a"), {"fanOutPolicy": "reject"})
    assert isinstance(single.call(), AwaitsChildren)


def test_without_a_decision_there_is_nothing_to_carry_out() -> None:
    one = DispatchCall(None)
    one.call()
    assert (failed(one).code, failed(one).retryable) == ("no_pending_decision", False)
    over = DispatchCall({"kind": "terminate"})
    over.call()
    assert (completed(over).outputs, over.events) == ({"kind": "terminate"}, [])


def asked(dispatch: DispatchCall) -> Interrupt:
    found = dispatch.call()
    assert isinstance(found, Suspended)
    return found.interrupt


@pytest.mark.rule("orch-06")
@pytest.mark.parametrize("config", [{}, PARALLEL])
def test_a_decision_below_the_floor_waits_for_a_person(config: dict[str, Any]) -> None:
    decision = workers("a", "b", confidence=0.3)
    one = DispatchCall(decision, config)
    question = asked(one)
    assert (question.kind, question.key) == ("clarification", "node:floor")
    (only,) = question.data["questions"]
    assert (only["id"], only["schema"]["enum"]) == ("proceed", ["proceed", "stop"])
    assert [(each.type, each.payload) for each in one.events if isinstance(each, EmitEvent)] == [
        (
            ConfidenceEscalated.event_type,
            {
                "confidence": 0.3,
                "floor": 0.5,
                "escalationKind": "clarify",
                "parentRunId": "run",
                "workerId": "a",
                "originalDecision": decision,
            },
        )
    ]
    one.answers = {"node:floor": Resolution({"answers": {"proceed": "proceed"}})}
    assert isinstance(one.call(), AwaitsChildren)
    assert one.event_steps()[:5] == [ConfidenceEscalated.event_type, *begun("a", 0)]
    other = DispatchCall(decision, config)
    other.visit = 2
    assert asked(other).key == "node:2:floor"
    other.answers = {"node:2:floor": Resolution({"answers": {"proceed": "stop"}})}
    other.call()
    assert (failed(other).code, other.children) == ("interrupt_rejected", {})


@pytest.mark.rule("orch-06")
def test_at_the_floor_and_without_a_word_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for decision in (workers("a", confidence=0.5), workers("a"), workers("a", confidence=1)):
        assert isinstance(DispatchCall(decision).call(), AwaitsChildren)
    monkeypatch.setattr("weftwork.adapters.nodes.runs.supervisor.CONFIDENCE_FLOOR", 0)
    assert isinstance(DispatchCall(workers("a", confidence=0.3)).call(), AwaitsChildren)


@pytest.mark.rule("orch-10")
@pytest.mark.parametrize(
    ("routing", "conversation", "talks"),
    [("auto", True, True), ("auto", False, False), ("clarification", True, False), ("conversation", True, True)],
)
def test_a_question_goes_to_a_person(routing: str, conversation: bool, talks: bool) -> None:
    one = DispatchCall({"kind": "ask-user", "prompt": "Which?"}, {"askUserRouting": routing}, conversation)
    question = asked(one)
    if talks:
        assert (question.kind, question.key) == ("conversation.exchange", "node:1")
        assert question.data == {"conversationId": "run:node:0", "prompt": "Which?", "turnIndex": 1}
        one.answers = {"node:1": Resolution("this")}
    else:
        assert (question.kind, question.key) == ("clarification", "node:answer")
        assert question.data == {"questions": [{"id": "answer", "question": "Which?"}]}
        one.answers = {"node:answer": Resolution({"answers": {"answer": "this"}})}
    one.call()
    assert completed(one).outputs == {"kind": "ask-user", "answer": "this"}
    one.visit = 1
    assert asked(one).key.startswith("node:1:")


def test_a_host_without_conversations_takes_no_routing_by_them() -> None:
    (found,) = [DispatchCall(None, {}, False).type]
    check = found.declaration.check_config
    assert check is not None
    assert [each.pointer for each in check({"askUserRouting": "conversation"})] == ["/askUserRouting"]
    assert check({"askUserRouting": "auto"}) == []


@pytest.mark.rule("wf-09")
def test_a_refused_config_names_the_capability_that_is_missing() -> None:
    declared = DispatchCall(None, {}, False).type.declaration
    attested = TYPES["core.subWorkflow"].declaration
    for declaration, config, capability in (
        (declared, {"askUserRouting": "conversation"}, "conversationPrimitive"),
        (attested, {"workflowId": "x", "outputAttestation": {}}, "agents.subRunAttestation"),
    ):
        found = check_config(declaration, config, "/nodes/0/config")
        assert [each.rule for each in found] == ["capability"]
        details = registration_refusal([Violation("", "required", "x"), *found]).details or {}
        assert (details["requiredCapability"], details["pointer"]) == (capability, "")
    assert "requiredCapability" not in (registration_refusal([Violation("", "required", "x")]).details or {})
