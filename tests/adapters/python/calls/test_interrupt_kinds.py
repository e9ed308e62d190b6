"""Questions of every kind: what is asked, what comes back, and what happens when nobody answers."""

import inspect
from datetime import timedelta
from typing import Any

import pytest

import weftwork
from tests.adapters.python.calls.asking_nodes import (
    DATA,
    TIMED_OUT,
    InterruptCall,
    answer_received,
    approve,
    asking_node,
    interrupt,
    outcome_of,
    requested_interrupt,
)
from tests.adapters.python.fake_node_host import FakeNodeHost
from weftwork.adapters.python.threads import ThreadPool
from weftwork.ports.node_outcome import Completed, Failed, Suspended
from weftwork.protocol.run.interrupts import INTERRUPT_KINDS, NON_BLOCKING_KINDS, Interrupt, Resolution

DAY = 86_400_000


def test_there_is_data_for_every_kind() -> None:
    assert DATA.keys() == INTERRUPT_KINDS.keys()


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("kind", [kind for kind in INTERRUPT_KINDS if kind not in NON_BLOCKING_KINDS])
def test_every_kind_can_be_asked(kind: str, plain: bool) -> None:
    schema = {"type": "object"}
    found = requested_interrupt(
        interrupt(kind, resume_schema=schema, timeout=timedelta(days=2), remind_after=(timedelta(days=1), 60)), plain
    )
    data = {"customKind": "k", "payload": DATA[kind]} if kind == "custom" else DATA[kind]
    assert found == Interrupt(kind, "n:0:k", data, schema, 2 * DAY, (60_000, DAY))
    answer = {"action": "accept", "decidedBy": "ann"}
    assert answer_received(interrupt(kind), answer, plain) == answer


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("kind", sorted(NON_BLOCKING_KINDS))
def test_what_nobody_answers_passes_at_once(kind: str, plain: bool) -> None:
    stage = FakeNodeHost()
    assert stage.run(asking_node(interrupt(kind), plain)) == Completed({"got": None})
    assert stage.passing_interrupts == [Interrupt(kind, "n:0:k", DATA[kind])]


@pytest.mark.parametrize("plain", [False, True])
def test_an_approval_in_short(plain: bool) -> None:
    short = {"artifactId": "n:0:k", "artifactType": "value", "title": "Pay it?", "actions": ["accept", "reject"]}
    assert requested_interrupt(approve(), plain) == Interrupt("approval", "n:0:k", short)
    whole = approve(
        artifact={"amount": 5},
        artifact_id="bill-7",
        artifact_type="bill",
        description="The bill of May.",
        actions=["accept", "refine"],
        approvers=("ann", "bob", "cyd"),
        required=2,
        rejection_policy="majority",
        override=True,
        timeout=1.5,
        remind_after=[1],
    )
    data = {
        "artifactId": "bill-7",
        "artifactType": "bill",
        "title": "Pay it?",
        "description": "The bill of May.",
        "artifactData": {"amount": 5},
        "actions": ["accept", "refine"],
        "requiredApprovals": 2,
        "approversList": ["ann", "bob", "cyd"],
        "rejectionPolicy": "majority",
        "override": True,
    }
    assert requested_interrupt(whole, plain) == Interrupt("approval", "n:0:k", data, None, 1_500, (1_000,))


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("action", ["accept", "reject", "refine"])
def test_an_approval_gives_its_decision_and_a_rejection_is_one(action: str, plain: bool) -> None:
    decision = {"action": action, "decidedBy": "ann", "comment": "so"}
    assert answer_received(approve(), Resolution(decision, "rejected"), plain) == decision
    votes = {"ann": action, "bob": "accept"}
    assert answer_received(approve(), Resolution(decision, "accepted", votes=votes), plain) == {
        **decision,
        "votes": votes,
    }


@pytest.mark.parametrize("plain", [False, True])
def test_a_quorum_that_cannot_be_reached_any_more_says_so(plain: bool) -> None:
    decision = {"action": "reject", "decidedBy": "ann"}
    found = answer_received(
        approve(), Resolution(decision, "rejected", "quorum-not-reached", votes={"ann": "reject"}), plain
    )
    assert found == {**decision, "reason": "quorum-not-reached", "votes": {"ann": "reject"}}


@pytest.mark.parametrize("plain", [False, True])
def test_an_approval_that_nobody_gave_is_rejected(plain: bool) -> None:
    rejected = {"action": "reject", "decidedBy": None, "reason": "timeout"}
    assert answer_received(approve(timeout=1), TIMED_OUT, plain) == rejected
    assert answer_received(interrupt("approval", timeout=1), TIMED_OUT, plain) == rejected


@pytest.mark.parametrize("plain", [False, True])
def test_several_questions_in_one_form(plain: bool) -> None:
    def ask(ctx: Any) -> Any:
        return ctx.clarify("k", {"size": "How large?", "colour": "Which?"}, context_type="order")

    questions = [{"id": "size", "question": "How large?"}, {"id": "colour", "question": "Which?"}]
    data = {"questions": questions, "contextType": "order"}
    assert requested_interrupt(ask, plain) == Interrupt("clarification", "n:0:k", data)
    assert answer_received(ask, {"answers": {"size": 3, "colour": "red"}, "note": "x"}, plain) == {
        "size": 3,
        "colour": "red",
    }

    listed = [{"id": "size", "question": "How large?", "schema": {"type": "integer"}}]
    assert requested_interrupt(lambda ctx: ctx.clarify("k", listed), plain).data == {"questions": listed}
    assert answer_received(lambda ctx: ctx.clarify("k", listed, timeout=1, default={"size": 1}), TIMED_OUT, plain) == {
        "size": 1
    }


@pytest.mark.parametrize("plain", [False, True])
def test_an_event_from_outside(plain: bool) -> None:
    def ask(ctx: Any) -> Any:
        return ctx.wait_for_event("k", "order.paid", {"order": 7}, timeout=60, resume_schema={"type": "object"})

    data = {"eventType": "order.paid", "correlation": {"order": 7}}
    assert requested_interrupt(ask, plain) == Interrupt("external-event", "n:0:k", data, {"type": "object"}, 60_000)
    assert answer_received(ask, {"order": 7, "by": "card"}, plain) == {"order": 7, "by": "card"}


UNTIMED = [
    interrupt("custom", timeout=1),
    interrupt("low-confidence", timeout=1),
    interrupt("conversation.exchange", timeout=1),
    lambda ctx: ctx.clarify("k", {"a": "A?"}, timeout=1),
    lambda ctx: ctx.wait_for_event("k", "paid", {}, timeout=1),
]


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("ask", UNTIMED)
def test_without_a_default_the_end_of_the_time_is_an_error(ask: InterruptCall, plain: bool) -> None:
    message = "Nobody answered the question k in time."
    assert outcome_of(ask, TIMED_OUT, plain) == Failed("interrupt_timeout", message, retryable=False)


@pytest.mark.parametrize("default", [None, 0, "none", {"a": 1}])
def test_a_default_stands_for_the_answer_that_did_not_come(default: Any) -> None:
    assert answer_received(interrupt("custom", timeout=1, default=default), TIMED_OUT) == default
    assert answer_received(interrupt("custom", timeout=1, default=default), "came") == "came"


@pytest.mark.parametrize("plain", [False, True])
def test_an_author_may_catch_the_end_of_the_time(plain: bool) -> None:
    @weftwork.node("acme.patient")
    async def patient(ctx: weftwork.Context) -> str:
        try:
            return await ctx.interrupt("k", timeout=1)
        except weftwork.InterruptTimeout as late:
            return f"{late.key} {late.code}"

    @weftwork.node("acme.patient")
    def patient_plainly(ctx: weftwork.PlainContext) -> str:
        try:
            return ctx.interrupt("k", timeout=1)
        except weftwork.InterruptTimeout as late:
            return f"{late.key} {late.code}"

    stage = FakeNodeHost()
    stage.answers["n:0:k"] = TIMED_OUT
    found = stage.run(patient_plainly if plain else patient)
    assert found == Completed({"output": "k interrupt_timeout"})


def test_times_are_rounded_up() -> None:
    found = requested_interrupt(interrupt("custom", timeout=0.0001, remind_after=timedelta(seconds=2, microseconds=1)))
    assert (found.timeout_ms, found.remind_after_ms) == (1, (2_001,))


def test_a_plain_function_that_waits_holds_no_thread() -> None:
    threads = ThreadPool(1, 1)
    stage = FakeNodeHost(threads)
    for number in range(3):
        found = stage.run(asking_node(lambda ctx: ctx.interrupt("k"), plain=True), node_id=f"n{number}")
        assert isinstance(found, Suspended)
    assert (threads.abandoned, threads.waiting_on_loop) == (0, 0)


def test_both_contexts_ask_alike() -> None:
    for name in ("interrupt", "approve", "clarify", "wait_for_event"):
        both = [inspect.signature(getattr(kind, name)) for kind in (weftwork.Context, weftwork.PlainContext)]
        assert both[0] == both[1]
