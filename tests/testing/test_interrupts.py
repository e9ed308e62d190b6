"""Questions in the kit: answers of every kind, of several people, of nobody, and all that was asked."""

from datetime import timedelta
from typing import Any

import pytest

import weftwork
from tests.harness.cases import each_case, fails_without, present
from tests.harness.definitions import edge, node, workflow
from tests.testing.definitions import sequence
from weftwork.testing import (
    TIMEOUT,
    Crash,
    LostAnswer,
    ManualClock,
    Outage,
    Question,
    Refused,
    Unmet,
    crash_everywhere,
    run_node,
    run_workflow,
)

DAY = 86_400_000
REMINDER = "weftwork.interrupt.reminder"


@weftwork.node("acme.every")
async def every(ctx: weftwork.Context) -> dict[str, Any]:
    talk = {"conversationId": "talk"}
    await ctx.interrupt("begin", talk, kind="conversation.start")
    found = {
        "choice": await ctx.interrupt("choice", {"of": ["red"]}, custom_kind="acme.choice"),
        "decision": (await ctx.approve("decision", "Pay it?", artifact={"amount": 5}))["action"],
        "answers": await ctx.clarify("answers", {"size": "How large?"}),
        "event": await ctx.wait_for_event("event", "paid", {"order": 7}),
        "turn": await ctx.interrupt("turn", {**talk, "prompt": "And?"}, kind="conversation.exchange"),
        "sure": await ctx.interrupt(
            "sure", {"agentId": "one", "threshold": 0.9, "observed": 0.5}, kind="low-confidence"
        ),
    }
    await ctx.interrupt("end", talk, kind="conversation.close")
    return found


ANSWERS: dict[str, Any] = {
    "choice": "red",
    "decision": {"action": "accept"},
    "answers": {"answers": {"size": 3}},
    "event": {"order": 7, "by": "card"},
    "turn": "Well.",
    "sure": {"go": True},
}
GIVEN = {**ANSWERS, "decision": "accept", "answers": {"size": 3}}


def test_every_kind_is_answered_and_shown() -> None:
    result = run_node(every, answers=ANSWERS)
    assert result.error is None
    assert result.outputs == GIVEN
    assert [(each.name, each.kind, each.status) for each in result.asked] == [
        ("begin", "conversation.start", "resolved"),
        ("choice", "acme.choice", "resolved"),
        ("decision", "approval", "resolved"),
        ("answers", "clarification", "resolved"),
        ("event", "external-event", "resolved"),
        ("turn", "conversation.exchange", "resolved"),
        ("sure", "low-confidence", "resolved"),
        ("end", "conversation.close", "resolved"),
    ]
    assert result.asked[1].data == {"of": ["red"]}
    assert result.asked[2].data["artifactData"] == {"amount": 5}
    assert result.question is None


@each_case("name", *ANSWERS)
def test_a_run_waits_for_each_of_them(name: str) -> None:
    answers = {each: value for each, value in ANSWERS.items() if each != name}
    result = run_node(every, answers=answers)
    assert result.question is not None
    assert (result.status, result.question.name, result.question.status) == ("suspended", name, "open")
    assert result.asked[-1] == result.question


def test_answers_of_every_kind_survive_crashes() -> None:
    for result in crash_everywhere(sequence("acme.every"), nodes=[every], answers=ANSWERS):
        assert (result.status, result.outputs) == ("completed", {"a": GIVEN}), result.faults


@weftwork.node("acme.quorum")
def quorum(ctx: weftwork.PlainContext, policy: str = "single-veto") -> dict[str, Any]:
    people = ("ann", "bob", "cyd")
    return ctx.approve("pay", "Pay it?", approvers=people, required=2, rejection_policy=policy, timeout=60)


def vote(voter: str, action: str = "accept") -> dict[str, str]:
    return {"action": action, "voter": voter}


def test_votes_come_one_after_the_other_are_waited_for_and_seen_by_functions() -> None:
    result = run_node(quorum, answers={"pay": [vote("ann"), vote("bob")]})
    assert (result.outputs["action"], result.outputs["votes"]) == ("accept", {"ann": "accept", "bob": "accept"})
    vetoed = run_node(quorum, answers={"pay": [vote("ann"), vote("cyd", "reject")]})
    assert (vetoed.outputs["action"], vetoed.outputs["votes"]) == ("reject", {"ann": "accept", "cyd": "reject"})
    outvoted = [vote("cyd", "reject"), vote("ann"), vote("bob")]
    assert run_node(quorum, inputs={"policy": "majority"}, answers={"pay": outvoted}).outputs["action"] == "accept"
    for answers in ([vote("ann")], vote("ann"), [vote("ann"), vote("ann")]):
        result = run_node(quorum, answers={"pay": answers})
        assert (result.status, present(result.question).votes) == ("suspended", {"ann": "accept"})
    seen: list[dict[str, str]] = []

    def next_vote(question: Question) -> dict[str, str]:
        seen.append(question.votes)
        return vote("bob" if question.votes else "ann")

    assert run_node(quorum, answers={"approval": next_vote}).outputs["action"] == "accept"
    assert seen == [{}, {"ann": "accept"}]


def test_votes_survive_crashes() -> None:
    votes = {"pay": [vote("ann"), vote("bob")]}
    for result in crash_everywhere(sequence("acme.quorum"), nodes=[quorum], answers=votes):
        assert result.status == "completed", result.faults
        assert result.kinds.count("approval.granted") == 2, result.faults


@each_case("wrong", {"action": "agree"}, {"action": "refine"}, "yes", vote("eve"))
def test_what_a_host_would_refuse_is_refused(wrong: Any) -> None:
    with pytest.raises(Refused, match="the host refuses"):
        run_node(quorum, answers={"pay": [wrong]})


@weftwork.node("acme.patient")
async def patient(ctx: weftwork.Context) -> str:
    try:
        return await ctx.interrupt("more", timeout=timedelta(days=30), remind_after=[86_400, 7 * 86_400])
    except weftwork.InterruptTimeout:
        return "nobody"


@weftwork.node("acme.default")
def default(ctx: weftwork.PlainContext) -> str:
    return ctx.interrupt("more", timeout=60, default="so be it")


def test_time_passes_until_nobody_has_answered() -> None:
    clock = ManualClock()
    start = clock.now()
    result = run_workflow(sequence("acme.patient"), nodes=[patient], answers={"more": TIMEOUT}, clock=clock)
    assert result.outputs == {"a": {"output": "nobody"}}
    assert (result.elapsed_ms, clock.now() - start) == (30 * DAY, 30 * DAY)
    assert [event.time[:10] for event in result.events if event.type == REMINDER] == ["2026-01-02", "2026-01-08"]
    assert result.asked[0].due_at == "2026-01-31T00:00:00.000Z"
    assert run_node(default, answers={"more": TIMEOUT}).outputs == {"output": "so be it"}
    decision = run_node(quorum, answers={"pay": TIMEOUT}).outputs
    assert (decision["action"], decision["reason"]) == ("reject", "timeout")


def test_some_vote_and_the_others_are_late() -> None:
    result = run_node(quorum, answers={"pay": [vote("ann"), TIMEOUT]})
    assert result.outputs == {"action": "reject", "decidedBy": None, "reason": "timeout", "votes": {"ann": "accept"}}


def test_a_function_may_say_that_nobody_answers() -> None:
    asked: list[str] = []

    def nobody(question: Question) -> Any:
        asked.append(question.key)
        return TIMEOUT

    assert run_node(patient, answers={"more": nobody}).outputs == {"output": "nobody"}
    assert asked == ["node:0:more"]


def test_the_end_of_the_time_survives_crashes() -> None:
    for result in crash_everywhere(sequence("acme.patient"), nodes=[patient], answers={"more": TIMEOUT}):
        assert (result.status, result.outputs) == ("completed", {"a": {"output": "nobody"}}), result.faults
        assert result.elapsed_ms == 30 * DAY


def test_only_a_question_with_a_timeout_runs_out_and_not_by_itself() -> None:
    @weftwork.node("acme.ever")
    async def ever(ctx: weftwork.Context) -> None:
        await ctx.interrupt("more")

    with pytest.raises(Unmet, match="the interrupt node:0:more has no timeout"):
        run_node(ever, answers={"more": TIMEOUT})
    result = run_node(patient)
    assert (result.status, present(result.question).due_at) == ("suspended", "2026-01-31T00:00:00.000Z")


def looped(times: int) -> dict[str, Any]:
    nodes = [node("h", "core.loop", config={"times": times}), node("a", "acme.round")]
    return workflow(nodes, [edge("h", "a", sourceOutput="body"), edge("a", "h")])


@weftwork.node("acme.round")
async def each_round(ctx: weftwork.Context) -> list[Any]:
    first = await ctx.interrupt("first", {"round": ctx.iteration})
    number = await ctx.step("count", lambda: ctx.iteration)
    second = await ctx.interrupt("second", {"number": number})
    return [first, second]


@weftwork.node("acme.round")
def each_round_plainly(ctx: weftwork.PlainContext) -> list[Any]:
    first = ctx.interrupt("first", {"round": ctx.iteration})
    number = ctx.step("count", lambda: ctx.iteration)
    second = ctx.interrupt("second", {"number": number})
    return [first, second]


@pytest.mark.parametrize("function", [each_round, each_round_plainly])
@fails_without("weftwork.adapters.python.calls.interrupts.wire_key", lambda call, key: f"{call.node_id}:0:{key}")
def test_each_round_of_a_loop_asks_anew(function: Any) -> None:
    answers: dict[str, Any] = {"first": lambda question: question.data, "second": lambda question: question.data}
    result = run_workflow(looped(3), nodes=[function], answers=answers)
    assert result.status == "completed", result.error
    asked = [(each.key, each.data) for each in result.asked]
    wanted = [[(f"a:{n}:first", {"round": n}), (f"a:{n}:second", {"number": n})] for n in range(3)]
    assert asked == [each for both in wanted for each in both]
    assert result.times("a", "count") == 3
    outputs = [event.payload["outputs"] for event in result.events if event.type == "node.completed"]
    rounds = [each["output"] for each in outputs if "output" in each]
    assert [{"round": 0}, {"number": 0}] in rounds
    assert [{"round": 2}, {"number": 2}] in rounds


def test_rounds_of_an_author_have_keys_of_their_own() -> None:
    @weftwork.node("acme.rounds")
    async def rounds(ctx: weftwork.Context) -> list[Any]:
        return [await ctx.interrupt(f"round-{number}", number) for number in range(5)]

    answers = {f"round-{number}": (lambda question: question.data * 10) for number in range(5)}
    for result in crash_everywhere(sequence("acme.rounds"), nodes=[rounds], answers=answers):
        assert result.nodes["a"].outputs == {"output": [0, 10, 20, 30, 40]}, result.faults
        assert [each.data for each in result.asked] == [0, 1, 2, 3, 4]


def test_two_branches_wait_side_by_side() -> None:
    document = workflow(
        [node("a", "acme.patient"), node("b", "acme.default"), node("c", "core.noop")], [edge("b", "c")]
    )
    result = run_workflow(document, nodes=[patient, default], answers={"b": TIMEOUT})
    assert [(each.node_id, each.status) for each in result.asked] == [("a", "open"), ("b", "resolved")]
    assert (result.nodes["b"].outputs, result.nodes["c"].status) == ({"output": "so be it"}, "completed")
    both = run_workflow(document, nodes=[patient, default], answers={"more": TIMEOUT})
    assert (both.status, both.nodes["a"].outputs) == ("completed", {"output": "nobody"})


@pytest.mark.parametrize("fault", [Crash, LostAnswer, Outage])
def test_whoever_was_not_told_answers_again(fault: Any) -> None:
    votes = {"pay": [vote("ann"), vote("bob")]}
    whole = run_workflow(sequence("acme.quorum"), nodes=[quorum], answers=votes)
    for at in range(1, whole.commits + 1):
        result = run_workflow(sequence("acme.quorum"), nodes=[quorum], answers=votes, faults=[fault(at=at)])
        assert result.status == "completed"
        assert result.kinds.count("approval.granted") == 2
