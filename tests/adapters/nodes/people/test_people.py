"""Nodes that ask people: approvals, clarifications and conversations."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.adapters.nodes.fake_context import (
    BROKEN_SOURCE,
    EvaluatingScope,
    FakeContext,
    FakeScope,
    final_failure,
    node_call,
    run_node,
)
from tests.harness.cases import each_case
from weftwork.adapters.nodes.people import gates
from weftwork.adapters.nodes.people.conversation_gate import MOCK_ANSWER
from weftwork.adapters.nodes.people.gates import MAX_DESCRIPTION, MAX_TITLE
from weftwork.ports.node_outcome import Completed, Failed, InterruptPending, NodeOutcome, Suspended, WriteChannel
from weftwork.protocol.json.schema import check_inline, document
from weftwork.protocol.people.approvals import QUORUM_NOT_REACHED
from weftwork.protocol.run.interrupts import TIMEOUT_REASON, Interrupt, Resolution
from weftwork.protocol.workflow.channels import shape_error

GATE = "core.approvalGate"
SUSPEND = document("suspend-request")["$id"]


def asked(config: dict[str, Any], inputs: dict[str, Any] | None = None, **more: Any) -> Interrupt:
    found = run_node(GATE, node_call(config, inputs, EvaluatingScope({}, {"who": "Ada"}), **more))
    assert isinstance(found, Suspended)
    assert check_inline({"$ref": f"{SUSPEND}#/$defs/approval"}, found.interrupt.data, "") == []
    return found.interrupt


def decided(resolution: Resolution, config: dict[str, Any] | None = None, **inputs: Any) -> NodeOutcome:
    return run_node(GATE, node_call(config or {}, inputs, answers={"node": replace(resolution, kind="approval")}))


def answer(action: str, **more: Any) -> Resolution:
    return Resolution({"action": action, "decidedBy": "ada", **more}, by="key_1")


def test_without_config_anybody_may_accept_or_reject() -> None:
    plain = {"artifactId": "node", "artifactType": "approval", "title": "Approval needed"}
    assert asked({}) == Interrupt("approval", "node", {**plain, "actions": ["accept", "reject"]})


def test_what_the_config_says_is_what_is_asked() -> None:
    config: dict[str, Any] = {
        "title": "Send it, {{variables.who}}?",
        "description": "To {{ports.to}}.",
        "artifactId": "letter/1",
        "artifactType": "letter",
        "artifactData": {"text": "old"},
        "actions": ["accept", "ask"],
        "requiredApprovals": 2,
        "approversList": ["a", "b"],
        "rejectionPolicy": "majority",
        "override": True,
        "overrideBypassesQuorum": True,
        "profile": "openwop-interrupt-auth-required",
        "timeoutSec": 3,
        "remindAfterMs": [1, 2],
        "resumeSchema": {"type": "object"},
        "key": "mine",
    }
    found = asked(config, {"to": "Bob", "artifactData": {"text": "new"}})
    assert found.data == {
        **{name: config[name] for name in config.keys() & found.data.keys()},
        "title": "Send it, Ada?",
        "description": "To Bob.",
        "artifactData": {"text": "new"},
    }
    assert config.keys() - found.data.keys() == {"timeoutSec", "remindAfterMs", "resumeSchema", "key"}
    assert (found.key, found.resume_schema) == ("mine", {"type": "object"})
    assert (found.timeout_ms, found.remind_after_ms) == (3_000, (1, 2))
    assert asked({"timeoutMs": 7}).timeout_ms == 7


def test_names_come_from_the_node_and_its_round() -> None:
    assert (asked({}, iteration=2).key, asked({}, iteration=2).data["artifactId"]) == ("node:2", "node-2")
    assert asked({"artifactId": "a", "key": "k"}, iteration=2).data["artifactId"] == "a"
    assert asked({"artifactId": "a"}, {"artifactId": "b"}).data["artifactId"] == "b"
    assert asked({"artifactData": None}).data["artifactData"] is None


def test_texts_are_never_empty_and_never_long() -> None:
    found = asked({"title": "{{ports.t}}", "description": "{{ports.d}}"}, {"t": "", "d": "d" * MAX_DESCRIPTION * 2})
    assert found.data["title"] == "Approval needed"
    assert len(found.data["description"]) == MAX_DESCRIPTION
    assert len(asked({"title": "{{ports.t}}"}, {"t": "t" * 9_000}).data["title"]) == MAX_TITLE
    fault = run_node(GATE, node_call({"title": BROKEN_SOURCE}, scope=FakeScope()))
    assert isinstance(fault, Failed)
    assert (fault.code, fault.retryable) == ("expression_failed", False)


def test_an_approval_completes_the_node() -> None:
    plain = {"action": "accept", "approved": True, "decidedBy": "ada"}
    assert decided(answer("accept")) == Completed(plain)
    assert decided(answer("accept", comment="fine"), artifactData=[1]) == Completed(
        {**plain, "feedback": "fine", "artifactData": [1]}
    )
    votes = {"ada": "accept", "bob": "accept"}
    quorum = Resolution({"action": "accept"}, by="bob", votes=votes)
    assert decided(quorum) == Completed({**plain, "decidedBy": "bob", "votes": votes})


def test_what_was_edited_takes_its_place_and_a_wish_for_something_better_is_no_approval() -> None:
    for edited in ({"a": 2}, None):
        found = decided(answer("edit-accept", editedArtifactData=edited), {"artifactData": {"a": 1}})
        done = {"action": "edit-accept", "approved": True, "decidedBy": "ada"}
        assert found == Completed({**done, "artifactData": edited})
    better = {"refineFeedback": {"scope": "whole", "text": "shorter"}}
    found = decided(answer("refine", **better), {"artifactData": 1})
    assert found == Completed({"action": "refine", "approved": False, "decidedBy": "ada", **better, "artifactData": 1})


@pytest.mark.rule("node-06")
@pytest.mark.parametrize(
    ("resolution", "details"),
    [
        (answer("reject"), {"reason": "rejected", "decidedBy": "ada"}),
        (answer("reject", feedback="no"), {"reason": "rejected", "decidedBy": "ada", "feedback": "no"}),
        (Resolution({"action": "reject"}, "rejected"), {"reason": "rejected"}),
        (
            Resolution({"action": "reject"}, "rejected", QUORUM_NOT_REACHED, "bob"),
            {"reason": "quorum-not-reached", "decidedBy": "bob"},
        ),
        (Resolution(None, "rejected", TIMEOUT_REASON), {"reason": "timeout"}),
    ],
)
def test_a_rejection_fails_the_node_for_good(
    resolution: Resolution, details: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert final_failure(decided(resolution)) == ("interrupt_rejected", details)
    monkeypatch.setattr(gates, "rejection_failure", lambda resolution: None)
    if resolution.timed_out:
        with pytest.raises(TypeError):
            decided(resolution)
    else:
        assert isinstance(decided(resolution), Completed)


CLARIFY = "core.clarificationGate"
ASKED = [{"id": "a", "question": "A?"}, {"id": "b", "question": "B?", "schema": {"type": "integer"}}]
LATE = {"node": Resolution(reason=TIMEOUT_REASON, kind="clarification")}


def failure(config: dict[str, Any], questions: Any = None, **more: Any) -> tuple[str, Any]:
    inputs = {"questions": questions} if questions is not None else {}
    return final_failure(run_node(CLARIFY, node_call(config, inputs, **more)))


def test_the_questions_are_asked_as_they_stand() -> None:
    config = {"questions": ASKED, "contextType": "trip", "timeoutMs": 5, "remindAfterMs": [1], "key": "k"}
    data = {"questions": ASKED, "contextType": "trip"}
    assert run_node(CLARIFY, node_call(config, scope=EvaluatingScope())) == Suspended(
        Interrupt("clarification", "k", data, None, 5, (1,))
    )


def test_a_question_is_a_template_and_never_empty_and_one_of_a_port_is_taken_as_it_is() -> None:
    questions = [{"id": "a", "question": "To {{ports.to}}?"}, {"id": "b", "question": "{{ports.none}}"}]
    found = run_node(CLARIFY, node_call({"questions": questions}, {"to": "Ada", "none": ""}, EvaluatingScope()))
    assert isinstance(found, Suspended)
    assert [each["question"] for each in found.interrupt.data["questions"]] == ["To Ada?", "b"]
    mine = [{"id": "z", "question": "{{no template}}"}]
    found = run_node(CLARIFY, node_call({"questions": ASKED}, {"questions": mine}, iteration=1))
    assert found == Suspended(Interrupt("clarification", "node:1", {"questions": mine}))
    answers = {"a": "x", "b": 1}
    resolution = Resolution({"answers": answers, "locale": "de"}, by="key_1", kind="clarification")
    found = run_node(CLARIFY, node_call({"questions": ASKED}, scope=EvaluatingScope(), answers={"node": resolution}))
    assert found == Completed({"answers": answers})
    assert failure({}) == ("node_input_missing", None)


def test_when_the_time_is_up_the_defaults_count_or_the_node_fails() -> None:
    config = {"questions": ASKED, "timeoutMs": 1}
    assert failure(config, scope=EvaluatingScope(), answers=LATE) == ("interrupt_timeout", None)
    defaults = {"a": "x", "b": 2}
    config |= {"defaultAnswers": defaults}
    assert run_node(CLARIFY, node_call(config, scope=EvaluatingScope(), answers=LATE)) == Completed(
        {"answers": defaults}
    )


def test_defaults_that_do_not_answer_the_questions_of_a_port_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"timeoutMs": 1, "defaultAnswers": {"a": 1}}
    assert failure(config, ASKED, answers=LATE) == ("interrupt_timeout", None)
    given = node_call(config, {"questions": ASKED[:1]}, answers=LATE)
    assert run_node(CLARIFY, given) == Completed({"answers": {"a": 1}})
    monkeypatch.setattr("weftwork.adapters.nodes.people.gates.check_answers", lambda *arguments: [])
    with pytest.raises(AssertionError):
        failure(config, ASKED, answers=LATE)


TALK = "core.conversationGate"
KIND = {
    "conversation.start": "conversationStart",
    "conversation.exchange": "conversationExchange",
    "conversation.close": "conversationClose",
}


def talk(
    config: dict[str, Any], *answers: Any, channel: str | None = None, iteration: int = 0, **inputs: Any
) -> tuple[NodeOutcome | Interrupt, list[Interrupt]]:
    """What it comes to, or what it asks next; and all that it asked on the way."""
    scope = EvaluatingScope({}, {"city": "Bern"})
    scope.channels = {channel: "message", "events": "append"} if channel is not None else {"events": "append"}
    context = FakeContext(scope)
    base = f"node:{iteration}" if iteration else "node"
    for turn, each in enumerate(answers, 1):
        context.resolved[f"{base}:{turn}"] = each if isinstance(each, Resolution) else Resolution(each, by="ada")
    found: NodeOutcome | Interrupt
    try:
        found = run_node(TALK, node_call(config, inputs, scope, iteration=iteration), context)
    except InterruptPending as asking:
        found = asking.interrupt
    suspend = document("suspend-request")["$id"]
    for each in context.asked:
        assert check_inline({"$ref": f"{suspend}#/$defs/{KIND[each.kind]}"}, each.data, "") == []
    return found, context.asked


def test_it_opens_asks_and_closes() -> None:
    found, asked = talk({"title": "Trip to {{variables.city}}", "initialPrompt": "Hello"}, {"day": 1})
    known = {"conversationId": "run:node:0"}
    turn = {**known, "prompt": "Please answer.", "turnIndex": 1}
    assert asked == [
        Interrupt("conversation.start", "node:start", {**known, "title": "Trip to Bern", "initialPrompt": "Hello"}),
        Interrupt("conversation.exchange", "node:1", turn),
        Interrupt("conversation.close", "node:close", {**known, "reason": "max-turns"}),
    ]
    said = [{"turnIndex": 1, "prompt": "Please answer.", "answer": {"day": 1}}]
    assert found == Completed({**known, "turns": said, "outcome": {"day": 1}})


def test_each_turn_waits_for_its_answer() -> None:
    config = {
        "prompts": ["One?", "After {{answer}}, number {{turn}}?"],
        "prompt": "More on {{ports.topic}}?",
        "turnCount": 3,
        "outcomeSchema": {"type": "string"},
        "timeoutMs": 5,
        "remindAfterMs": [1],
    }
    answers: list[str] = []
    for turn, prompt in enumerate(("One?", "After a, number 2?", "More on cats?"), 1):
        found, asked = talk(config, *answers, topic="cats")
        assert isinstance(found, Interrupt)
        assert (found.key, found.data["prompt"], found.data["turnIndex"]) == (f"node:{turn}", prompt, turn)
        assert (found.data["outcomeSchema"], found.resume_schema) == ({"type": "string"}, None)
        assert (found.timeout_ms, found.remind_after_ms) == (5, (1,))
        assert "conversation.close" not in {each.kind for each in asked}
        answers.append("abc"[turn - 1])
    found, _ = talk(config, *answers, topic="cats")
    assert isinstance(found, Completed)
    assert found.outputs["outcome"] == "c"


def test_prompts_a_condition_or_the_time_end_it() -> None:
    found, asked = talk({"prompts": ["a", "b"], "mockAutoResume": True})
    assert isinstance(found, Completed)
    assert [each.data["prompt"] for each in asked if each.kind == "conversation.exchange"] == ["a", "b"]
    found, _ = talk({"mockAutoResume": True, "turnCount": 3})
    assert isinstance(found, Completed)
    assert [each["answer"] for each in found.outputs["turns"]] == [MOCK_ANSWER] * 3
    config = {"turnCount": 9, "endWhen": "answer == 'enough' || turn >= 3.0"}
    for answers in (("more", "enough"), ("a", "b", "c")):
        found, asked = talk(config, *answers)
        assert isinstance(found, Completed)
        assert len(found.outputs["turns"]) == len(answers)
        assert asked[-1].data["reason"] == "goal-reached"
    found, asked = talk({"turnCount": 3, "timeoutMs": 1}, "a", Resolution(reason=TIMEOUT_REASON))
    assert final_failure(found)[0] == "interrupt_timeout"
    assert [each.kind.rpartition(".")[2] for each in asked] == ["start", "exchange", "exchange", "close"]
    assert asked[-1].data["reason"] == "timeout"


@each_case(
    "config, closed",
    ({"endWhen": "answer.x"}, True),
    ({"prompt": "{{answer.x}}"}, True),
    ({"title": "{{ports.x}}"}, False),
)
def test_an_expression_at_fault_fails_the_node_and_leaves_nothing_open(config: dict[str, Any], closed: bool) -> None:
    found, asked = talk(config, "a")
    assert isinstance(found, Failed)
    assert not found.retryable
    kinds = [each.kind for each in asked]
    assert kinds[-1:] == (["conversation.close"] if closed else [])
    assert not closed or asked[-1].data["reason"] == "failed"


def test_each_round_of_a_loop_is_another_conversation() -> None:
    found, asked = talk({}, "a", iteration=2)
    assert isinstance(found, Completed)
    assert {each.key for each in asked} == {"node:2:start", "node:2:1", "node:2:close"}
    assert {each.data["conversationId"] for each in asked} == {"run:node:2"}


def test_what_was_said_goes_to_a_channel_of_messages() -> None:
    config = {"initialPrompt": "Hi", "prompts": ["1?", "2?"]}
    found, _ = talk(config, "a", {"b": 1}, channel="conversation")
    assert isinstance(found, Completed)
    writes = [each for each in found.effects if isinstance(each, WriteChannel)]
    assert {(each.channel, each.reducer) for each in writes} == {("conversation", "message")}
    assert [shape_error("message", each.value) for each in writes] == [None] * 5
    rows = [
        tuple(each.value[name] for name in ("messageId", "from", "role", "content", "turnIndex")) for each in writes
    ]
    assert rows == [
        ("node.0.0", "node", "system", "Hi", 0),
        ("node.0.1.prompt", "node", "system", "1?", 1),
        ("node.0.1", "ada", "user", "a", 1),
        ("node.0.2.prompt", "node", "system", "2?", 2),
        ("node.0.2", "ada", "user", {"b": 1}, 2),
    ]
    again, _ = talk(config, "a", {"b": 1}, channel="conversation", iteration=1)
    assert isinstance(again, Completed)
    ids = [each.value["messageId"] for each in (*writes, *again.effects) if isinstance(each, WriteChannel)]
    assert len(set(ids)) == 10


def test_a_channel_of_another_kind_is_left_alone_unless_it_is_named() -> None:
    for config in ({}, {"mockAutoResume": True}):
        found, _ = talk(config, "a")
        assert isinstance(found, Completed)
        assert found.effects == ()
    for channel in ("events", "nowhere"):
        found, asked = talk({"channel": channel}, "a")
        assert isinstance(found, Failed)
        assert (found.code, asked) == ("node_config_invalid", [])
    found, _ = talk({"channel": "talk"}, "a", channel="talk")
    assert isinstance(found, Completed)
    assert len(found.effects) == 2
