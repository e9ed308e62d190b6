"""core.orchestrator.supervisor on its own: one decision for each tick, and none without the confidence it needs."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.adapters.nodes.fake_context import TYPES, EvaluatingScope, node_call, run_node
from tests.adapters.nodes.runs.fake_runs import UNKNOWN, DispatchCall, DispatchContext, workers
from tests.harness.cases import each_case, fails_without, present
from tests.harness.definitions import for_all
from weftwork.adapters.nodes.runs import dispatch
from weftwork.adapters.nodes.runs.dispatch import DispatchWorkers
from weftwork.ports.node_outcome import Completed, EmitEvent, Failed, InterruptPending, NodeOutcome, Suspended
from weftwork.protocol.json import schema
from weftwork.protocol.json.caller_schema import check_caller_schema, check_value
from weftwork.protocol.run.events import ORCHESTRATOR_DECIDED
from weftwork.protocol.run.interrupts import Interrupt, Resolution
from weftwork.protocol.run.payloads import ConfidenceEscalated
from weftwork.protocol.workflow import orchestration
from weftwork.protocol.workflow.node_config import check_config
from weftwork.protocol.workflow.orchestration import JOIN_MODES, join_outcome

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
        assert (event.type, event.event_id) == (ORCHESTRATOR_DECIDED, "event-0")
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
@each_case("member", "plan", "mockDispatchPlan", "mockDecisions")
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
@each_case(
    "decision, pointer",
    ({"kind": "dance"}, "/kind"),
    ({"kind": "next-worker"}, ""),
    ({"kind": "next-worker", "nextWorkerIds": []}, "/nextWorkerIds"),
    ({"kind": "next-worker", "nextWorkerIds": [1]}, "/nextWorkerIds/0"),
    ({"kind": "ask-user", "prompt": ""}, "/prompt"),
    ({"kind": "terminate", "prompt": "x"}, "/prompt"),
    ({"kind": "terminate", "confidence": 1.1}, "/confidence"),
    ("terminate", ""),
    (None, ""),
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
@for_all(150, JSON, full=6_000)
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


ENDS = ("completed", "completed", "failed", "cancelled")
MAPPING = {"outputMapping": {"found": "x"}}


@st.composite
def dispatches(draw: st.DrawFn) -> DispatchCall:
    count = draw(st.integers(1, 6))
    names = [f"w{index}" for index in range(count)]
    if draw(st.integers(0, 3)) == 3:
        names[draw(st.integers(0, count - 1))] = UNKNOWN
    if draw(st.booleans()):
        return DispatchCall(workers(*names), MAPPING)
    mode = draw(st.sampled_from(JOIN_MODES))
    config: dict[str, Any] = {"fanOutPolicy": "parallel", "joinMode": mode, "maxParallel": draw(st.integers(1, 6))}
    if mode == "quorum":
        config["quorum"] = draw(st.integers(1, count))
    return DispatchCall(workers(*names), {**MAPPING, **config})


def names_of(one: DispatchCall) -> list[str]:
    assert one.decided is not None
    return one.decided.decision["nextWorkerIds"]


def most_open(one: DispatchCall) -> int:
    return one.config.get("maxParallel", 1)


def met(one: DispatchCall) -> tuple[str, list[int]] | None:
    """What the join mode comes to, told another way: by the shortest beginning of the ends that is enough, or with
    which it is lost, or with which a worker is due that cannot be started."""
    names, config = names_of(one), one.config
    count, ends = len(names), one.ended_workers
    due = names.index(UNKNOWN) - most_open(one) + 1 if UNKNOWN in names else len(names) + 1
    for length in range(len(ends) + 1):
        good = sorted(index for index, status in ends[:length] if status == "completed")
        bad = sorted(index for index, status in ends[:length] if status != "completed")
        enough, lost = {
            "wait-all": (len(good) == count, length == count and bool(bad)),
            "quorum": (len(good) == config.get("quorum"), count - len(bad) < config.get("quorum", 0)),
            "first": (bool(good), len(bad) == count),
            "race": (bool(good), bool(bad)),
            "": (len(good) == count, bool(bad)),
        }[config.get("joinMode", "")]
        if enough or lost:
            return ("completed", good) if enough else ("failed", bad[:1])
        if length >= due:
            return "unknown", [names.index(UNKNOWN)]
    return None


def play(one: DispatchCall, data: st.DataObject) -> None:
    """Drive it to its end. What it cancels workers for is what it comes to."""
    promised: tuple[str, list[int]] | None = None
    for _ in range(60):
        move = data.draw(st.sampled_from(["end", "end", "call", "call", "lost", "late"]))
        if move == "end" and one.open:
            key = data.draw(st.sampled_from(one.open))
            one.end(int(key), data.draw(st.sampled_from(ENDS)), x=key)
        elif move == "lost":
            one.peek()
        elif move == "late" and one.open:
            # It looked before the word came that is there when its answer is.
            seen = one.peek()
            key = data.draw(st.sampled_from(one.open))
            one.end(int(key), data.draw(st.sampled_from(ENDS)), x=key)
            one.commit(*seen, late=True)
        else:
            before = met(one)
            one.call()
            if one.reasons and promised is None:
                promised = before
                assert promised is not None, "workers were cancelled without need"
            if one.outcome is not None:
                break
        assert len(one.open) <= most_open(one)
    while one.outcome is None:
        for key in list(one.open):
            one.end(int(key), "completed", x=key)
        one.call()
    assert promised in (None, met(one)), "what was decided changed"


def check(one: DispatchCall) -> None:
    names, story = names_of(one), one.event_steps()
    assert [line for line, times in Counter(story).items() if times > 1] == [], "something was done twice"
    started = len(one.children)
    assert list(one.children) == [str(index) for index in range(started)]
    statuses = [each.status for each in one.children.values()]
    for index, status in enumerate(statuses):
        end = f"child.{status} {names[index]}"
        assert [line for line in story if line.startswith("child.") and line.endswith(f" {names[index]}")] == [end]
        steps = [f"dispatch.began {names[index]}", f"start {index}", f"dispatch.succeeded {names[index]}", end]
        assert sorted(steps, key=story.index) == steps
    harvested = [line.removeprefix("output.harvested ") for line in story if line.startswith("output.harvested")]
    found = present(met(one))
    verdict, who = found
    assert one.reasons <= {"join-decided" if verdict == "completed" else "parent-failed"}
    assert (f"dispatch.failed {UNKNOWN}" in story) is (verdict == "unknown")
    match one.outcome:
        case Completed(outputs):
            assert verdict == "completed"
            assert harvested == [names[index] for index in who]
            assert [each["childStatus"] for each in outputs["results"]] == statuses
            assert outputs["childRunId"] == f"run-{who[-1]}"
        case Failed(code, _, details):
            assert details is not None
            assert [details["workerId"]] == [names[index] for index in who]
            assert code == {"unknown": "unknown_child_workflow"}.get(verdict, f"child_run_{details.get('childStatus')}")
            assert verdict != "completed"
            assert harvested == ([] if "joinMode" in one.config else names[: who[0]])
        case _:
            raise AssertionError(one.outcome)


@pytest.mark.rule("orch-07")
@for_all(150, dispatches(), st.data(), full=6_000)
def test_every_order_of_ends_is_told_once_and_decides_as_its_mode_says(one: DispatchCall, data: st.DataObject) -> None:
    play(one, data)
    check(one)


def play_out(config: dict[str, Any], *ends: tuple[int, str], at_once: bool = False) -> None:
    """Two workers that end as said; at_once: before there is a look."""
    one = DispatchCall(workers("w0", "w1"), {**MAPPING, "fanOutPolicy": "parallel", "maxParallel": 2, **config})
    one.call()
    for index, status in ends:
        assert len(one.open) <= most_open(one)
        one.end(index, status, x=index)
        if not at_once:
            one.call()
    if at_once:
        one.call()
    assert one.outcome is not None, "it waits for ever"
    check(one)


def judged_as_first(_: str, quorum: int, total: int, ends: Any) -> Any:
    return join_outcome("first", 1, total, ends)


def judged_by_place(mode: Any, quorum: int, total: int, ends: Any) -> Any:
    return join_outcome(mode, quorum, total, sorted(ends))


DONE, FAILED = "completed", "failed"


@each_case(
    "guard, config, ends, at_once",
    ((dispatch, "join_outcome", judged_as_first), {"joinMode": "wait-all"}, ((0, DONE), (1, FAILED)), False),
    ((dispatch, "join_outcome", judged_by_place), {"joinMode": "race"}, ((1, FAILED), (0, DONE)), True),
    ((dispatch, "join_outcome", judged_by_place), {"joinMode": "race"}, ((1, DONE), (0, FAILED)), True),
    ((dispatch, "join_outcome", judged_by_place), {"joinMode": "first"}, ((1, DONE), (0, DONE)), True),
    ((dispatch, "min", lambda *_: 2, False), {"joinMode": "wait-all", "maxParallel": 1}, ((0, DONE), (1, DONE)), False),
    ((DispatchWorkers, "_cancel_open", lambda *_: None), {"joinMode": "first"}, ((1, DONE), (0, "cancelled")), False),
    ((DispatchWorkers, "_cancel_open", lambda *_: None), {"joinMode": "race"}, ((1, FAILED), (0, "cancelled")), False),
)
def test_a_dispatch_that_judges_starts_or_leaves_behind_otherwise_is_seen(
    guard: Any, config: dict[str, Any], ends: tuple[tuple[int, str], ...], at_once: bool
) -> None:
    fails_without(*guard)(play_out)(config, *ends, at_once=at_once)
