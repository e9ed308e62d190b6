"""Gates with one approver and with many: whose word counts, what the log says, what answers may not smuggle in."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.decide.test_answers import GATE, asked, refused
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import node, variable, workflow
from tests.harness.engine_harness import EngineHarness
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.people.approvals import Answerer, tally_votes
from weftwork.protocol.people.interrupt_validation import MAX_SCHEMA_BYTES, check_interrupt
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.interrupts import Interrupt

ALL = ["accept", "reject", "refine", "edit-accept", "ask"]
KEY = Answerer("key_1", frozenset({"alice"}))
TRUSTED = Answerer("key_9", may_delegate=True)
OWNER = Answerer("key_0", may_override=True)


def gate(**more: Any) -> dict[str, Any]:
    return {**GATE, **more}


async def said(bench: EngineHarness, key: RunKey, kind: str) -> list[dict[str, Any]]:
    for event in await bench.events(key):
        assert schema.check_payload(event.type, msgspec.json.decode(event.payload)) == [], event.type
    return await bench.payloads(key, kind)


@pytest.mark.rule("appr-02", "appr-08", "int-15")
@each_case(
    "value, outcome, received",
    ({"action": "accept"}, "accepted", {"action": "accept"}),
    ({"action": "accept", "comment": "fine"}, "accepted", {"action": "accept", "comment": "fine"}),
    ({"action": "reject", "feedback": "no"}, "rejected", {"action": "reject", "feedback": "no"}),
    (
        {"action": "refine", "refineFeedback": {"scope": "section", "sectionPath": "/a"}},
        "refined",
        {"action": "refine", "refineFeedback": {"scope": "section", "sectionPath": "/a"}},
    ),
    (
        {"action": "edit-accept", "editedArtifactData": None},
        "accepted",
        {"action": "edit-accept", "editedArtifactData": None},
    ),
    ({"decision": "approved"}, "accepted", {"action": "accept"}),
    ({"decision": "rejected"}, "rejected", {"action": "reject"}),
    (
        {"decision": "rejected", "feedback": "shorter"},
        "refined",
        {"action": "refine", "feedback": "shorter", "refineFeedback": {"scope": "whole", "text": "shorter"}},
    ),
)
async def test_what_an_approver_may_say(value: dict[str, Any], outcome: str, received: dict[str, Any]) -> None:
    bench, key = await asked("approval", gate(actions=ALL))
    assert await bench.answer(key, value, by=KEY) == "completed"
    (resolved,) = await said(bench, key, "interrupt.resolved")
    assert (resolved["outcome"], resolved["resolvedBy"]) == (outcome, "key_1")
    assert resolved["resumeValue"] == {
        **{k: v for k, v in value.items() if k != "decision"},
        **received,
        "decidedBy": "key_1",
    }
    assert await said(bench, key, "approval.received") == [{"nodeId": "ask", "decidedBy": "key_1", **received}]
    (asking,) = await said(bench, key, "approval.requested")
    assert asking["actions"] == ["accept", "reject", "refine", "edit", "ask"]


@pytest.mark.rule("appr-02")
@each_case(
    "value",
    None,
    [],
    {},
    {"action": "maybe"},
    {"action": "ask", "question": "why?"},
    {"action": "edit-accept", "editedArtifactData": 1},
    {"action": "refine"},
    {"action": "refine", "refineFeedback": {}},
    {"action": "accept", "comment": 1},
    {"action": "accept", "voter": ""},
    {"decision": "perhaps"},
    {"action": "accept", "override": "yes"},
)
async def test_what_no_approver_may_say(value: Any) -> None:
    bench, key = await asked("approval", gate(actions=["accept", "reject", "refine"]))
    assert (await refused(bench, key, value))[:2] == (400, "validation_error")
    assert await bench.answer(key, {"action": "accept"}) == "completed"


@pytest.mark.rule("appr-01")
async def test_who_asks_back_leaves_the_gate_open() -> None:
    bench, key = await asked("approval", gate(actions=ALL))
    assert (await refused(bench, key, {"action": "ask"}))[0] == 400
    assert await bench.answer(key, {"action": "ask", "question": "Which account?"}, by=KEY) == "waiting-approval"
    (remark,) = await said(bench, key, "weftwork.approval.remark")
    assert remark == {"nodeId": "ask", "principal": "key_1", "action": "ask", "text": "Which account?"}
    assert "approval.received" not in await bench.event_types(key)
    assert await bench.answer(key, {"action": "accept"}) == "completed"


@pytest.mark.rule("appr-04", "appr-09", "appr-10")
async def test_a_quorum_counts_each_vote_and_ends_with_the_last_that_is_needed() -> None:
    bench, key = await asked("approval", gate(requiredApprovals=3, rejectionPolicy="majority", approversList=[]))
    for number, voter in enumerate(("a", "b"), 1):
        assert await bench.answer(key, {"action": "accept", "voter": voter}) == "waiting-approval"
        granted = (await said(bench, key, "approval.granted"))[-1]
        progress = {"granted": number, "required": 3}
        assert granted == {"gateId": "ask", "principal": voter, "quorumProgress": progress}
    assert await bench.answer(key, {"action": "accept", "voter": "a"}) == "waiting-approval"
    assert len(await said(bench, key, "approval.granted")) == 2
    bench = await bench.take_over()
    assert await bench.answer(key, {"action": "accept", "voter": "c", "comment": "go"}) == "completed"
    (received,) = await said(bench, key, "approval.received")
    assert (received["decidedBy"], received["comment"]) == ("quorum:3-of-3", "go")
    assert (await said(bench, key, "weftwork.approval.remark"))[0]["text"] == "go"


@pytest.mark.rule("appr-04")
@pytest.mark.parametrize(("policy", "needed"), [("majority", 2), ("single-veto", 1)])
async def test_how_many_rejections_end_a_quorum(policy: str, needed: int) -> None:
    bench, key = await asked("approval", gate(requiredApprovals=3, rejectionPolicy=policy))
    await bench.answer(key, {"action": "accept", "voter": "a"})
    for number in range(1, needed + 1):
        answer = {"action": "reject", "voter": f"r{number}", "feedback": "no"}
        assert await bench.answer(key, answer) == ("waiting-approval" if number < needed else "completed")
    (resolved,) = await said(bench, key, "interrupt.resolved")
    assert (resolved["outcome"], resolved["resumeValue"]["decidedBy"]) == ("rejected", f"r{needed}")
    rejected = await said(bench, key, "approval.rejected")
    assert [each["principal"] for each in rejected] == [f"r{number}" for number in range(1, needed + 1)]
    assert rejected[0]["reason"] == "no"


@pytest.mark.rule("appr-04")
@each_case(
    "required, named, votes, outcome, reason",
    (2, [], [("a", "reject"), ("a", "accept"), ("b", "accept")], "accepted", None),
    (3, [], [("a", "reject"), ("b", "refine")], "rejected", None),
    (3, ["a", "b", "c"], [("a", "reject"), ("b", "accept"), ("c", "accept")], "rejected", "quorum-not-reached"),
)
async def test_a_majority_decides_when_no_vote_can_change_it_any_more(
    required: int, named: list[str], votes: list[tuple[str, str]], outcome: str, reason: str | None
) -> None:
    """A vote may be changed while the gate is open. To send back is not to accept."""
    policy = {"requiredApprovals": required, "rejectionPolicy": "majority", "approversList": named}
    bench, key = await asked("approval", gate(actions=["accept", "reject", "refine"], **policy))
    for number, (voter, action) in enumerate(votes, 1):
        more = {"refineFeedback": {"scope": "whole"}} if action == "refine" else {}
        status = await bench.answer(key, {"action": action, "voter": voter, **more}, by=TRUSTED)
        assert status == ("completed" if number == len(votes) else "waiting-approval")
    (resolved,) = await said(bench, key, "interrupt.resolved")
    assert (resolved["outcome"], resolved.get("reason")) == (outcome, reason)


@pytest.mark.rule("appr-03")
@fails_without(
    "weftwork.engine.decide.interrupts.resolve_actor", lambda data, said, by, votes: said.get("voter", by.principal)
)
async def test_only_named_approvers_count_and_nobody_speaks_for_them_unless_they_may() -> None:
    named = gate(requiredApprovals=2, approversList=["alice", "bob", "carol"])
    bench, key = await asked("approval", named)
    yes = {"action": "accept"}
    assert (await refused(bench, key, yes, Answerer("key_2", frozenset({"mallory"}))))[:2] == (403, "forbidden")
    assert (await refused(bench, key, {**yes, "voter": "bob"}, KEY))[:2] == (403, "forbidden")
    assert (await refused(bench, key, {**yes, "voter": "mallory"}, TRUSTED))[:2] == (403, "forbidden")
    link = Answerer("link:1", frozenset({"bob"}), bound_person="bob", has_key=False)
    assert await bench.answer(key, {**yes, "voter": "carol"}, by=link) == "waiting-approval"
    assert [each["principal"] for each in await said(bench, key, "approval.granted")] == ["bob"]
    assert await bench.answer(key, yes, by=link) == "waiting-approval"
    assert (await refused(bench, key, yes, Answerer("link:2", has_key=False)))[:2] == (403, "forbidden")
    assert await bench.answer(key, yes, by=KEY) == "completed"
    assert [each["principal"] for each in await said(bench, key, "approval.granted")] == ["bob", "alice"]
    bench, key = await asked("approval", named)
    await bench.answer(key, {**yes, "voter": "alice"}, by=TRUSTED)
    assert await bench.answer(key, {**yes, "voter": "carol"}, by=TRUSTED) == "completed"


@pytest.mark.rule("appr-06")
@fails_without("weftwork.protocol.people.approvals._check_profile", lambda *arguments: None)
async def test_a_gate_that_asks_for_a_key_takes_no_link() -> None:
    bench, key = await asked("approval", gate(profile="openwop-interrupt-auth-required"))
    link = Answerer("link:1", has_key=False)
    assert (await refused(bench, key, {"action": "accept"}, link))[:2] == (403, "forbidden")
    assert await bench.answer(key, {"action": "accept"}) == "completed"


@pytest.mark.rule("appr-07", "appr-09")
@fails_without("weftwork.protocol.people.approvals._check_override", lambda *arguments: None)
async def test_an_override_is_allowed_by_the_gate_and_the_key_and_says_why() -> None:
    named = {"requiredApprovals": 2, "approversList": ["alice", "bob"]}
    over = {"action": "accept", "override": True, "reason": "the office burns"}
    bench, key = await asked("approval", gate(**named))
    assert (await refused(bench, key, over, OWNER))[:2] == (400, "validation_error")
    bench, key = await asked("approval", gate(**named, override=True, overrideBypassesQuorum=True))
    assert (await refused(bench, key, over, KEY))[:2] == (403, "forbidden")
    assert await refused(bench, key, {**over, "reason": " "}, OWNER) == (400, "validation_error", "/resumeValue/reason")
    assert await bench.answer(key, over, by=OWNER) == "completed"
    (overridden,) = await said(bench, key, "approval.overridden")
    assert overridden == {"gateId": "ask", "principal": "key_0", "reason": "the office burns"}
    (received,) = await said(bench, key, "approval.received")
    assert (received["action"], received["decidedBy"]) == ("accept", "key_0")
    bench, key = await asked("approval", gate(**named, override=True))
    assert await bench.answer(key, over, by=OWNER) == "waiting-approval"
    assert await bench.answer(key, {"action": "accept"}, by=KEY) == "completed"
    # One that is one voice of several is counted once.
    bench, key = await asked("approval", gate(requiredApprovals=3, rejectionPolicy="majority", override=True))
    for _ in range(3):
        assert await bench.answer(key, {**over, "action": "reject"}, by=OWNER) == "waiting-approval"
    assert len(await said(bench, key, "approval.overridden")) == 1
    assert len(await said(bench, key, "approval.rejected")) == 1


@pytest.mark.rule("appr-04")
@given(
    st.integers(1, 6),
    st.sampled_from(["single-veto", "majority"]),
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["accept", "reject"])), max_size=30),
)
def test_votes_decide_as_they_are_counted_by_hand(required: int, policy: str, cast: list[tuple[str, str]]) -> None:
    data = {"requiredApprovals": required, "rejectionPolicy": policy}
    votes: dict[str, str] = {}
    for voter, action in cast:
        votes[voter] = action
        yes = sorted(votes.values()).count("accept")
        no = sorted(votes.values()).count("reject")
        wanted = "accept" if yes >= required else None
        if wanted is None and (no >= 1 if policy == "single-veto" else no > required // 2):
            wanted = "reject"
        found = tally_votes(data, votes, action)
        assert (found.action, found.granted, found.required) == (wanted, yes, required)
        if wanted is not None:
            return


SECRET = "4711-secret"


@pytest.mark.rule("appr-02", "appr-08")
@each_case(
    "value",
    {"action": "accept", "decision": "rejected"},
    {"action": "accept", "decision": "approved"},
    {"action": "accept", "editedArtifactData": 1},
    {"action": "reject", "refineFeedback": {"scope": "whole"}},
    {"action": "accept", "voter": "quorum:3-of-3"},
    {"action": "accept", "voter": "link:7"},
    {"action": "accept", "decidedBy": "ada\nbob"},
    {"action": "accept", "voter": "ada\u202e"},
)
@fails_without(
    ["weftwork.protocol.people.approvals._REQUIRED_MEMBERS", {}],
    ["weftwork.protocol.people.approvals._upgrade_legacy_answer", lambda value, actions: value],
    ["weftwork.protocol.people.approvals._ANSWER_SCHEMA", {"type": "object"}],
)
async def test_an_answer_that_contradicts_itself_or_pretends_is_refused(value: dict[str, Any]) -> None:
    bench, key = await asked("approval", gate(actions=ALL))
    assert (await refused(bench, key, value))[:2] == (400, "validation_error")


async def test_whose_vote_it_was_is_not_for_the_one_who_votes_to_say() -> None:
    bench, key = await asked("approval", gate(actions=ALL))
    link = Answerer("link:1", bound_person="ada", has_key=False)
    value = {"action": "accept", "voter": "bob", "votes": {"bob": "accept"}}
    assert await bench.answer(key, value, by=link) == "completed"
    (resolved,) = await said(bench, key, "interrupt.resolved")
    assert resolved["resumeValue"] == {"action": "accept", "decidedBy": "ada"}


@pytest.mark.rule("hide-03")
@fails_without("weftwork.engine.decide.interrupts._is_hidden", lambda *arguments: False, match=SECRET)
async def test_no_refusal_says_what_a_hidden_question_would_take() -> None:
    form = "[{'id': 'q', 'question': 'Which?', 'schema': {'enum': [variables.pin, 'other']}}]"
    ports = {"questions": {"type": "expression", "expression": form}}
    ask = node("ask", "core.clarificationGate", config={}, inputs=ports)
    document = workflow([ask], [], [variable("pin", sensitive=True)])
    bench, key = await EngineHarness().with_settled_run(document, inputs={"pin": SECRET})
    with pytest.raises(ClientFault) as caught:
        await bench.answer(key, {"answers": {"q": "wrong"}})
    assert SECRET not in f"{caught.value} {caught.value.details}"


@pytest.mark.rule("hide-03")
@fails_without("weftwork.engine.decide.interrupts.MARKER_PREFIX", "never")
async def test_a_marker_is_no_answer_to_a_hidden_question() -> None:
    config = {"kind": "custom", "data": {"customKind": "pick"}}
    text = {"type": "expression", "expression": "'Is it ' + variables.pin"}
    ask = node("ask", "core.interrupt", config=config, inputs={"payload": text})
    bench = EngineHarness()
    key = await bench.start(workflow([ask], [], [variable("pin", sensitive=True)]), inputs={"pin": SECRET})
    shown = (await bench.payloads(key, "interrupt.requested"))[0]["data"]["payload"]
    assert (await refused(bench, key, {"use": shown}))[:2] == (400, "validation_error")
    assert await bench.answer(key, {"use": "something else"}) == "completed"


@pytest.mark.rule("int-08", "int-09")
@fails_without("weftwork.protocol.people.interrupt_validation.MAX_STEPS", 10**9)
async def test_what_all_questions_cost_together_is_bounded() -> None:
    def questions(count: int, schema: dict[str, Any]) -> dict[str, Any]:
        return {"questions": [{"id": f"q{at}", "question": "?", "schema": schema} for at in range(count)]}

    large = questions(10, {"enum": ["x" * 1000 + str(at) for at in range(MAX_SCHEMA_BYTES // 10_000)]})
    assert check_interrupt(Interrupt("clarification", "k", questions(1, large["questions"][0]["schema"]))) == []
    more = questions(20, large["questions"][0]["schema"])
    assert [each.rule for each in check_interrupt(Interrupt("clarification", "k", more))] == ["size"]
    bench, key = await asked("clarification", questions(20, {"type": "array", "items": {"type": "integer"}}))
    answers = {f"q{at}": list(range(5000)) for at in range(20)}
    assert (await refused(bench, key, {"answers": answers}))[:2] == (400, "validation_error")
    assert await bench.answer(key, {"answers": {name: [1] for name in answers}}) == "completed"
