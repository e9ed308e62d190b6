"""core.conversationGate on its own: turn by turn, over a host that answers by a table."""

from typing import Any

import pytest

from tests.adapters.nodes.fake_context import EvaluatingScope, FakeContext, node_call, run_node
from weftwork.adapters.nodes.people.conversation_gate import MOCK_ANSWER
from weftwork.ports.node_outcome import Completed, Failed, InterruptPending, NodeOutcome, WriteChannel
from weftwork.protocol.json.schema import check_inline, document
from weftwork.protocol.run.interrupts import TIMEOUT_REASON, Interrupt, Resolution
from weftwork.protocol.workflow.channels import shape_error

GATE = "core.conversationGate"
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
        found = run_node(GATE, node_call(config, inputs, scope, iteration=iteration), context)
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


def test_prompts_alone_say_how_many_turns_there_are() -> None:
    found, asked = talk({"prompts": ["a", "b"], "mockAutoResume": True})
    assert isinstance(found, Completed)
    assert [each.data["prompt"] for each in asked if each.kind == "conversation.exchange"] == ["a", "b"]


def test_a_condition_on_the_answer_ends_it() -> None:
    config = {"turnCount": 9, "endWhen": "answer == 'enough' || turn >= 3.0"}
    for answers in (("more", "enough"), ("a", "b", "c")):
        found, asked = talk(config, *answers)
        assert isinstance(found, Completed)
        assert len(found.outputs["turns"]) == len(answers)
        assert asked[-1].data["reason"] == "goal-reached"


def test_time_that_is_up_closes_it_and_fails_the_node() -> None:
    found, asked = talk({"turnCount": 3, "timeoutMs": 1}, "a", Resolution(reason=TIMEOUT_REASON))
    assert isinstance(found, Failed)
    assert (found.code, found.retryable) == ("interrupt_timeout", False)
    assert [each.kind.rpartition(".")[2] for each in asked] == ["start", "exchange", "exchange", "close"]
    assert asked[-1].data["reason"] == "timeout"


@pytest.mark.parametrize(
    ("config", "closed"),
    [({"endWhen": "answer.x"}, True), ({"prompt": "{{answer.x}}"}, True), ({"title": "{{ports.x}}"}, False)],
)
def test_an_expression_at_fault_fails_the_node_and_leaves_nothing_open(config: dict[str, Any], closed: bool) -> None:
    found, asked = talk(config, "a")
    assert isinstance(found, Failed)
    assert not found.retryable
    kinds = [each.kind for each in asked]
    assert kinds[-1:] == (["conversation.close"] if closed else [])
    assert not closed or asked[-1].data["reason"] == "failed"


def test_the_host_answers_itself_where_the_author_says_so() -> None:
    found, _ = talk({"mockAutoResume": True, "turnCount": 3})
    assert isinstance(found, Completed)
    assert [each["answer"] for each in found.outputs["turns"]] == [MOCK_ANSWER] * 3


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
