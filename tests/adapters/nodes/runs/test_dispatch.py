"""core.dispatch on its own: what it does about each decision, call by call."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.adapters.nodes.fake_context import TYPES
from tests.adapters.nodes.runs.fake_runs import UNKNOWN, DispatchCall, workers
from tests.harness.cases import each_case, present
from weftwork.ports.node_outcome import AwaitsChildren, Completed, EmitEvent, Failed, StartChild, Suspended
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.run.interrupts import Interrupt, Resolution
from weftwork.protocol.run.payloads import ConfidenceEscalated
from weftwork.protocol.workflow import orchestration
from weftwork.protocol.workflow.node_config import check_config
from weftwork.protocol.workflow.registration import registration_refusal

PARALLEL = {"fanOutPolicy": "parallel"}


def begun(worker: str, index: int) -> list[str]:
    return [f"dispatch.began {worker}", f"start {index}", f"node.dispatched {worker}", f"dispatch.succeeded {worker}"]


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
    ids = {"workerId": "a", "parentRunId": "run", "childRunId": "run-0"}
    assert harvested.payload == {**ids, "phase": "output.harvested", "harvestedKeys": ["mine"]}
    ended = {"childRunId": "run-0", "childStatus": "completed"}
    assert completed(one).outputs == {"kind": "next-worker", **ended, "results": [{"workerId": "a", **ended}]}


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
    first = ["child.completed a", "shared = hello", "output.harvested a"]
    assert one.event_steps() == [*begun("a", 0), *first, *begun("b", 1)]
    one.end(1)
    one.call()
    assert one.event_steps()[-1] == "child.completed b"
    assert completed(one).outputs["childRunId"] == "run-1"
    wanted = [present(each.child.header.parent) for each in one.events if isinstance(each, StartChild)]
    assert [each.variables for each in wanted] == [("output",), ()]
    assert {each.cause for each in wanted} == {"core.dispatch"}


@pytest.mark.rule("orch-09")
@each_case("status", "failed", "cancelled")
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


@each_case("config", {}, PARALLEL)
def test_an_unknown_worker_fails_the_node(config: dict[str, Any]) -> None:
    one = DispatchCall(workers(UNKNOWN), config)
    one.call()
    assert (failed(one).code, failed(one).details) == ("unknown_child_workflow", {"workerId": UNKNOWN})
    assert one.event_steps() == [f"dispatch.began {UNKNOWN}", f"dispatch.failed {UNKNOWN}"]
    among = DispatchCall(workers("a", UNKNOWN, "b"), PARALLEL)
    among.call()
    assert failed(among).code == "unknown_child_workflow"
    assert among.event_steps() == one.event_steps(), "those beside it are not started"
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
@each_case("config", {}, PARALLEL)
def test_a_decision_below_the_floor_waits_for_a_person(config: dict[str, Any]) -> None:
    decision = workers("a", "b", confidence=0.3)
    one = DispatchCall(decision, config)
    question = asked(one)
    assert (question.kind, question.key) == ("clarification", "node:floor")
    (only,) = question.data["questions"]
    assert (only["id"], only["schema"]["enum"]) == ("proceed", ["proceed", "stop"])
    (told,) = [each for each in one.events if isinstance(each, EmitEvent)]
    assert told.type == ConfidenceEscalated.event_type
    ids = {"parentRunId": "run", "workerId": "a", "originalDecision": decision}
    assert told.payload == {"confidence": 0.3, "floor": 0.5, "escalationKind": "clarify", **ids}
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
@each_case(
    "routing, conversation, talks",
    ("auto", True, True),
    ("auto", False, False),
    ("clarification", True, False),
    ("conversation", True, True),
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
    check = present(found.declaration.check_config)
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


@pytest.mark.rule("orch-07")
def test_all_are_waited_for_and_harvested_in_their_order() -> None:
    one = DispatchCall(workers("a", "b", "c"), {**PARALLEL, "outputMapping": {"last": "x"}})
    one.call()
    assert one.event_steps() == [*begun("a", 0), *begun("b", 1), *begun("c", 2)]
    for index in (2, 0, 1):
        assert one.outcome is None
        one.end(index, x=index)
        one.call()
    harvests = [
        (f"child.completed {each}", f"last = {at}", f"output.harvested {each}") for at, each in enumerate("abc")
    ]
    assert one.event_steps()[12:] == [line for each in harvests for line in each]
    assert completed(one).outputs["childRunId"] == "run-2"


@pytest.mark.rule("orch-07")
def test_of_all_the_first_in_their_order_that_failed_counts() -> None:
    one = DispatchCall(workers("a", "b", "c"), PARALLEL)
    one.call()
    one.end(2, "failed")
    assert one.call() == AwaitsChildren()
    one.end(1, "cancelled")
    one.call()
    one.end(0)
    one.call()
    assert (failed(one).code, (failed(one).details or {})["workerId"]) == ("child_run_cancelled", "b")
    assert one.event_steps()[12:] == ["child.completed a", "child.cancelled b", "child.failed c"]


@pytest.mark.rule("orch-07")
@each_case(
    "mode, decides",
    ({"joinMode": "quorum", "quorum": 2}, 2),
    ({"joinMode": "first"}, 1),
    ({"joinMode": "race"}, 1),
)
def test_those_that_are_not_needed_are_cancelled_and_waited_for(mode: dict[str, Any], decides: int) -> None:
    one = DispatchCall(workers(*"abcde"), {**PARALLEL, **mode, "maxParallel": 4, "outputMapping": {"found": "x"}})
    one.call()
    for index in range(decides):
        one.end(index + 1, x=index)
        one.call()
    losers = [index for index in range(4) if not one.children[str(index)].has_ended]
    started = 4 + decides - 1
    assert [line for line in one.event_steps() if line.startswith("cancel ")] == [f"cancel {key}" for key in one.open]
    assert len(one.children) == started
    assert one.call() == AwaitsChildren()
    assert one.outcome is None
    for index in map(int, one.open):
        one.end(index, "cancelled")
        one.call()
    assert {f"child.cancelled {'abcde'[index]}" for index in losers} <= set(one.event_steps())
    found = [line for line in one.event_steps() if line.startswith("found")]
    assert found == [f"found = {index}" for index in range(decides)]
    assert completed(one).outputs["childRunId"] == f"run-{decides}"
    assert len(completed(one).outputs["results"]) == started


@pytest.mark.rule("orch-07")
def test_a_race_is_over_with_its_first_end() -> None:
    one = DispatchCall(workers("a", "b"), {**PARALLEL, "joinMode": "race"})
    one.call()
    one.end(1, "failed")
    one.end(0)
    one.call()
    assert (failed(one).details or {})["workerId"] == "b", "the one that ended first counts"
    assert one.event_steps()[-2:] == ["child.completed a", "child.failed b"]
    first = DispatchCall(workers("a", "b"), {**PARALLEL, "joinMode": "first"})
    first.call()
    first.end(1, "failed")
    assert first.call() == AwaitsChildren()
    first.end(0, "failed")
    first.call()
    assert (failed(first).details or {})["workerId"] == "a"


@pytest.mark.rule("orch-07")
@each_case(
    "config, ends, tail",
    ({"joinMode": "race"}, [(1, "failed")], ["child.cancelled a", "child.failed b"]),
    ({"joinMode": "quorum", "quorum": 3}, [(1, "failed")], ["child.cancelled a", "child.failed b"]),
    (
        {"joinMode": "first", "outputMapping": {"mine": "pin"}},
        [(1, "completed")],
        ["child.cancelled a", "child.completed b"],
    ),
    (
        {"joinMode": "wait-all"},
        [(1, "completed")],
        ["child.cancelled a", "child.completed b", f"dispatch.began {UNKNOWN}", f"dispatch.failed {UNKNOWN}"],
    ),
)
def test_a_node_that_fails_waits_for_the_others_as_well(
    config: dict[str, Any], ends: list[tuple[int, str]], tail: list[str]
) -> None:
    one = DispatchCall(workers("a", "b", UNKNOWN), {**PARALLEL, "maxParallel": 2, **config})
    one.call()
    for index, status in ends:
        one.end(index, status)
        one.children[str(index)] = replace(one.children[str(index)], hidden=("pin",))
    told = one.event_steps()
    one.call()
    assert one.outcome is None
    assert one.event_steps() == [*told, "cancel 0"]
    assert one.reasons == {"parent-failed"}
    assert one.call() == AwaitsChildren()
    one.end(0, "cancelled")
    one.call()
    assert isinstance(one.outcome, Failed)
    assert one.event_steps() == [*told, "cancel 0", *tail]


@pytest.mark.rule("orch-07")
def test_a_worker_that_cannot_be_started_fails_the_node_whatever_ends_meanwhile() -> None:
    """It was due before the other one completed."""
    for at_once in (False, True):
        one = DispatchCall(workers("a", "b", UNKNOWN), {**PARALLEL, "maxParallel": 2, "joinMode": "first"})
        one.call()
        one.end(0, "failed")
        if not at_once:
            one.call()
        one.end(1)
        one.call()
        assert failed(one).code == "unknown_child_workflow"
    enough = DispatchCall(workers("a", "b", UNKNOWN), {**PARALLEL, "maxParallel": 2, "joinMode": "first"})
    enough.call()
    enough.end(1)
    enough.end(0, "failed")
    enough.call()
    assert completed(enough).outputs["childRunId"] == "run-1"


@pytest.mark.rule("orch-07")
def test_a_quorum_that_cannot_be_reached_fails_the_node() -> None:
    one = DispatchCall(workers("a"), {**PARALLEL, "joinMode": "quorum", "quorum": 2})
    one.call()
    assert (failed(one).code, failed(one).details) == ("quorum_unreachable", {"quorum": 2, "workers": 1})
    assert one.events == []
    late = DispatchCall(workers("a", "b", "c"), {**PARALLEL, "joinMode": "quorum", "quorum": 2})
    late.call()
    late.end(1, "failed")
    assert late.call() == AwaitsChildren()
    late.end(2, "failed")
    late.call()
    late.end(0)
    late.call()
    assert (failed(late).details or {})["workerId"] == "b"


def test_modes_are_spelled_once() -> None:
    config = DispatchCall(None).type.declaration.config["properties"]
    assert config["joinMode"]["enum"] == list(orchestration.JOIN_MODES)
    assert config["maxParallel"]["maximum"] == orchestration.MAX_PARALLEL
