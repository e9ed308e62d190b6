"""Questions of Python nodes: their kinds, their answers, and what is refused."""

import asyncio
import threading
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import pytest

import weftwork
from tests.adapters.nodes.fake_context import final_failure
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
from tests.harness.cases import each_case
from weftwork.adapters.python.calls import interrupts
from weftwork.adapters.python.threads import ThreadPool
from weftwork.ports.node_outcome import Completed, Failed, InterruptPending, Suspended
from weftwork.protocol.run.interrupts import INTERRUPT_KINDS, NON_BLOCKING_KINDS, Interrupt, Resolution


@weftwork.node("acme.ask")
async def ask(ctx: weftwork.Context, swallow: bool = False) -> Any:
    try:
        return await ctx.interrupt("colour", data={"of": "door"}, custom_kind="choice")
    except BaseException:
        if not swallow:
            raise
        return "swallowed"


def test_a_question_waits_for_its_answer() -> None:
    stage = FakeNodeHost()
    asked = stage.run(ask, visit=2)
    assert isinstance(asked, Suspended)
    assert asked.interrupt.kind == "custom"
    assert asked.interrupt.key == "n:2:colour"
    assert asked.interrupt.data == {"customKind": "choice", "payload": {"of": "door"}}
    stage.answers["n:2:colour"] = "red"
    assert stage.run(ask, visit=2) == Completed({"output": "red"})
    assert isinstance(stage.run(ask, visit=3), Suspended)
    assert isinstance(stage.run(ask, visit=3, swallow=True), Suspended), "also if the code swallows it"


@each_case("key", "weftwork.effect-unknown", "choice")
def test_the_kinds_of_the_host_are_its_own(key: str) -> None:
    @weftwork.node("acme.forges")
    async def forges(ctx: weftwork.Context) -> None:
        await ctx.interrupt(key, custom_kind=None if key.startswith("weftwork") else "weftwork.effect-unknown")

    assert FakeNodeHost().run(forges) == Failed(
        "node_misused", "Custom kinds that begin with weftwork. are reserved for the host.", retryable=False
    )


def test_after_a_question_every_call_asks_again() -> None:
    raised: list[type[BaseException]] = []

    @weftwork.node("acme.stubborn")
    async def stubborn(ctx: weftwork.Context) -> None:
        for call in (
            lambda: ctx.interrupt("first"),
            lambda: ctx.step("a", lambda: 1),
            lambda: ctx.get_version("change", 1, 2),
        ):
            try:
                await call()
            except BaseException as error:
                raised.append(type(error))
        raise KeyError("never mind")

    stage = FakeNodeHost()
    asked = stage.run(stubborn)
    assert isinstance(asked, Suspended)
    assert asked.interrupt.data == {"customKind": "first"}
    assert raised == [InterruptPending] * 3
    assert stage.recorded == {}


def test_a_question_beside_a_step_waits_for_the_step() -> None:
    release = threading.Event()

    @weftwork.node("acme.both")
    async def both(ctx: weftwork.Context) -> None:
        async def ask_soon() -> None:
            await asyncio.sleep(0)
            threading.Timer(0.05, release.set).start()
            await ctx.interrupt("ask")

        async with asyncio.TaskGroup() as group:
            group.create_task(ctx.step("slow", release.wait, 10))
            group.create_task(ask_soon())

    @weftwork.node("acme.gathered")
    async def gathered(ctx: weftwork.Context) -> None:
        await asyncio.gather(ctx.step("slow", release.wait, 10), ctx.interrupt("ask"))

    assert isinstance(FakeNodeHost().run(both), Suspended)
    release.set()
    stage = FakeNodeHost()
    assert isinstance(stage.run(gathered), Suspended)
    assert stage.recorded == {"slow": True}


def test_a_once_node_asks_nobody() -> None:
    @weftwork.node("acme.fire", effect="once")
    async def fire(ctx: weftwork.Context) -> None:
        await ctx.interrupt("ask")

    found = FakeNodeHost().run(fire)
    assert final_failure(found)[0] == "node_misused"
    assert "put its effect into a step" in str(found)


DAY = 86_400_000


@each_case("plain", False, True)
@each_case("kind", *[kind for kind in INTERRUPT_KINDS if kind not in NON_BLOCKING_KINDS])
def test_every_kind_can_be_asked(kind: str, plain: bool) -> None:
    schema = {"type": "object"}
    found = requested_interrupt(
        interrupt(kind, resume_schema=schema, timeout=timedelta(days=2), remind_after=(timedelta(days=1), 60)), plain
    )
    data = {"customKind": "k", "payload": DATA[kind]} if kind == "custom" else DATA[kind]
    assert found == Interrupt(kind, "n:0:k", data, schema, 2 * DAY, (60_000, DAY))
    answer = {"action": "accept", "decidedBy": "ann"}
    assert answer_received(interrupt(kind), answer, plain) == answer


@each_case("plain", False, True)
@each_case("kind", *sorted(NON_BLOCKING_KINDS))
def test_what_nobody_answers_passes_at_once(kind: str, plain: bool) -> None:
    stage = FakeNodeHost()
    assert stage.run(asking_node(interrupt(kind), plain)) == Completed({"got": None})
    assert stage.passing_interrupts == [Interrupt(kind, "n:0:k", DATA[kind])]


@each_case("plain", False, True)
def test_an_approval_in_short(plain: bool) -> None:
    short = {"artifactId": "n:0:k", "artifactType": "value", "title": "Pay it?", "actions": ["accept", "reject"]}
    assert requested_interrupt(approve(), plain) == Interrupt("approval", "n:0:k", short)
    options: dict[str, tuple[str, Any]] = {
        "artifact": ("artifactData", {"amount": 5}),
        "artifact_id": ("artifactId", "bill-7"),
        "artifact_type": ("artifactType", "bill"),
        "description": ("description", "The bill of May."),
        "actions": ("actions", ["accept", "refine"]),
        "approvers": ("approversList", ["ann", "bob", "cyd"]),
        "required": ("requiredApprovals", 2),
        "rejection_policy": ("rejectionPolicy", "majority"),
        "override": ("override", True),
    }
    whole = approve(**{name: value for name, (_, value) in options.items()}, timeout=1.5, remind_after=[1])
    data = {"title": "Pay it?", **dict(options.values())}
    assert requested_interrupt(whole, plain) == Interrupt("approval", "n:0:k", data, None, 1_500, (1_000,))


@each_case("plain", False, True)
@each_case("action", "accept", "reject", "refine")
def test_an_approval_gives_its_decision_and_a_rejection_is_one(action: str, plain: bool) -> None:
    decision = {"action": action, "decidedBy": "ann", "comment": "so"}
    assert answer_received(approve(), Resolution(decision, "rejected"), plain) == decision
    votes = {"ann": action, "bob": "accept"}
    accepted = Resolution(decision, "accepted", votes=votes)
    assert answer_received(approve(), accepted, plain) == {**decision, "votes": votes}


@each_case("plain", False, True)
def test_an_approval_that_cannot_come_any_more_is_rejected_and_says_why(plain: bool) -> None:
    decision = {"action": "reject", "decidedBy": "ann"}
    unreached = Resolution(decision, "rejected", "quorum-not-reached", votes={"ann": "reject"})
    reason = {"reason": "quorum-not-reached", "votes": {"ann": "reject"}}
    assert answer_received(approve(), unreached, plain) == {**decision, **reason}
    rejected = {"action": "reject", "decidedBy": None, "reason": "timeout"}
    for ask in (approve(timeout=1), interrupt("approval", timeout=1)):
        assert answer_received(ask, TIMED_OUT, plain) == rejected


@each_case("plain", False, True)
def test_several_questions_in_one_form(plain: bool) -> None:
    def ask(ctx: Any) -> Any:
        return ctx.clarify("k", {"size": "How large?", "colour": "Which?"}, context_type="order")

    questions = [{"id": "size", "question": "How large?"}, {"id": "colour", "question": "Which?"}]
    data = {"questions": questions, "contextType": "order"}
    assert requested_interrupt(ask, plain) == Interrupt("clarification", "n:0:k", data)
    answers = {"size": 3, "colour": "red"}
    assert answer_received(ask, {"answers": answers, "note": "x"}, plain) == answers
    listed = [{"id": "size", "question": "How large?", "schema": {"type": "integer"}}]
    assert requested_interrupt(lambda ctx: ctx.clarify("k", listed), plain).data == {"questions": listed}
    late = answer_received(lambda ctx: ctx.clarify("k", listed, timeout=1, default={"size": 1}), TIMED_OUT, plain)
    assert late == {"size": 1}


@each_case("plain", False, True)
def test_an_event_from_outside(plain: bool) -> None:
    def ask(ctx: Any) -> Any:
        return ctx.wait_for_event("k", "order.paid", {"order": 7}, timeout=60, resume_schema={"type": "object"})

    data = {"eventType": "order.paid", "correlation": {"order": 7}}
    assert requested_interrupt(ask, plain) == Interrupt("external-event", "n:0:k", data, {"type": "object"}, 60_000)
    assert answer_received(ask, {"order": 7, "by": "card"}, plain) == {"order": 7, "by": "card"}


@each_case("plain", False, True)
@each_case(
    "ask",
    interrupt("custom", timeout=1),
    interrupt("low-confidence", timeout=1),
    interrupt("conversation.exchange", timeout=1),
    lambda ctx: ctx.clarify("k", {"a": "A?"}, timeout=1),
    lambda ctx: ctx.wait_for_event("k", "paid", {}, timeout=1),
)
def test_without_a_default_the_end_of_the_time_is_an_error(ask: InterruptCall, plain: bool) -> None:
    message = "The interrupt k was not answered within its timeout."
    assert outcome_of(ask, TIMED_OUT, plain) == Failed("interrupt_timeout", message, retryable=False)


@each_case("default", None, 0, "none", {"a": 1})
def test_a_default_stands_for_the_answer_that_did_not_come(default: Any) -> None:
    assert answer_received(interrupt("custom", timeout=1, default=default), TIMED_OUT) == default
    assert answer_received(interrupt("custom", timeout=1, default=default), "came") == "came"


@each_case("plain", False, True)
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


NO_TIMES = (float("nan"), float("inf"), True, "1")


def test_a_plain_function_that_waits_holds_no_thread() -> None:
    threads = ThreadPool(1, 1)
    stage = FakeNodeHost(threads)
    for number in range(3):
        found = stage.run(asking_node(lambda ctx: ctx.interrupt("k"), plain=True), node_id=f"n{number}")
        assert isinstance(found, Suspended)
    assert (threads.abandoned, threads.waiting_on_loop) == (0, 0)


@each_case("plain", False, True)
@each_case(
    "ask, why",
    (
        interrupt("custom", timeout=0),
        "timeout of the interrupt k must be seconds or a timedelta, greater than 0 and up to",
    ),
    *((interrupt("custom", timeout=wrong), "timeout of the interrupt k must be seconds") for wrong in NO_TIMES),
    (interrupt("custom", timeout=timedelta(days=9999)), "up to 3,660 days"),
    (interrupt("custom", remind_after=[-1]), "remind_after of the interrupt k must be seconds"),
    (interrupt("custom", remind_after=None), "remind_after of the interrupt k must be a list of seconds"),
    (interrupt("custom", remind_after=range(1, 100)), "/remindAfterMs must be a list of at most 16 times"),
    (interrupt("custom", resume_schema=object()), "The schema of the interrupt k is not JSON"),
    (interrupt("custom", resume_schema={"$ref": "https://example.com/x"}), "/resumeSchema/$ref"),
    (interrupt("custom", resume_schema={"type": "wrong"}), "/resumeSchema/type"),
    (interrupt("custom", resume_schema=[]), "/resumeSchema must be"),
    (interrupt("approval", custom_kind="mine"), "custom_kind is allowed only with the kind custom"),
    (interrupt("approval", default={}), "cannot have a default, because a timeout is a rejection"),
    (interrupt("conversation.start", timeout=1), "the kind conversation.start has no answer"),
    (interrupt("conversation.close", default=None), "the kind conversation.close has no answer"),
    (interrupt("conversation.close", resume_schema={}), "the kind conversation.close has no answer"),
    (lambda ctx: ctx.interrupt("a:b"), "The key of an interrupt"),
    (lambda ctx: ctx.interrupt(""), "The key of an interrupt"),
    (lambda ctx: ctx.interrupt("k", object()), "is not JSON"),
    (lambda ctx: ctx.interrupt("k", custom_kind=""), "custom_kind of the interrupt k"),
    (lambda ctx: ctx.interrupt("k", kind="advice"), "must be one of approval, clarification"),
    (lambda ctx: ctx.interrupt("k", kind=None), "must be one of approval, clarification"),
    (lambda ctx: ctx.interrupt("k", "text", kind="approval"), "kind approval is invalid: /data must be of type object"),
    (lambda ctx: ctx.interrupt("k", {}, kind="low-confidence"), "kind low-confidence is invalid: /data"),
    (lambda ctx: ctx.interrupt("k", {"conversationId": ""}, kind="conversation.start"), "/data/conversationId"),
    (approve(actions=["agree"]), "/data/actions/0 must be one of"),
    (approve(actions=["ask"]), "/data/actions must contain at least one of accept"),
    (approve(approvers="ann"), "/data/approversList must be of type array"),
    (approve(approvers=["ann"], required=2), "/data/requiredApprovals must be 1 or less"),
    (approve(required=0), "/data/requiredApprovals"),
    (approve(rejection_policy="never"), "/data/rejectionPolicy must be one of"),
    (approve(artifact=object()), "The data of the interrupt k is not JSON"),
    (lambda ctx: ctx.approve("k", ""), "/data/title"),
    (lambda ctx: ctx.approve("no key", "Title"), "The key of an interrupt must have"),
    (lambda ctx: ctx.clarify("k", {}), "/data/questions"),
    (lambda ctx: ctx.clarify("k", "What?"), "/data/questions must be of type array"),
    (lambda ctx: ctx.clarify("k", [{"id": "a", "question": "A?", "schema": {"type": 1}}]), "/data/questions/0/schema"),
    (lambda ctx: ctx.clarify("k", [{"id": "a", "question": "A?"}] * 2), "must not contain an id twice"),
    (lambda ctx: ctx.wait_for_event("k", "paid", 7), "/data/correlation must be of type object"),
)
def test_what_cannot_be_asked_is_refused_before_anybody_sees_it(ask: InterruptCall, why: str, plain: bool) -> None:
    found = FakeNodeHost().run(asking_node(ask, plain))
    assert final_failure(found)[0] == "node_misused"
    assert why in str(found)


@each_case("plain", False, True)
def test_what_the_host_does_not_ask_fails_the_node(plain: bool) -> None:
    stage = FakeNodeHost()
    stage.refused_kinds.add("conversation.exchange")
    found = stage.run(asking_node(interrupt("conversation.exchange"), plain))
    assert found == Failed("node_misused", "Not here.", retryable=False)


@pytest.mark.parametrize("plain", [False, True])
def test_without_the_check_it_would_be_asked(monkeypatch: pytest.MonkeyPatch, plain: bool) -> None:
    """Sabotage: nobody looks at the data of a kind."""
    monkeypatch.setattr(interrupts, "check_interrupt", lambda asked: [])
    assert requested_interrupt(approve(actions=["agree"]), plain).data["actions"] == ["agree"]


@each_case("plain", False, True)
def test_a_key_is_good_for_one_kind_of_question(plain: bool) -> None:
    @weftwork.node("acme.mixes")
    async def mixes(ctx: weftwork.Context) -> Any:
        return [await ctx.interrupt("k"), await ctx.approve("k", "Pay it?")]

    @weftwork.node("acme.mixes")
    def mixes_plainly(ctx: weftwork.PlainContext) -> Any:
        return [ctx.interrupt("k"), ctx.approve("k", "Pay it?")]

    stage = FakeNodeHost()
    stage.answers["n:0:k"] = {"action": "accept"}
    found = stage.run(mixes_plainly if plain else mixes)
    message = "The key k belongs to an interrupt of another kind; use a different key for each interrupt."
    assert found == Failed("node_misused", message, retryable=False)


@pytest.mark.parametrize(
    "ask", [approve(), lambda ctx: ctx.clarify("k", {"a": "A?"})], ids=["a decision", "answers by id"]
)
def test_an_answer_to_what_older_code_asked_is_not_taken_for_another(ask: InterruptCall) -> None:
    found = outcome_of(ask, "red")
    assert isinstance(found, Failed)
    assert "belongs to an interrupt of another kind" in found.message


def test_asked_again_in_the_same_entry_a_question_has_its_answer() -> None:
    @weftwork.node("acme.doubts")
    async def doubts(ctx: weftwork.Context) -> Any:
        return [await ctx.interrupt("k", {"first": True}), await ctx.interrupt("k", {"first": False})]

    stage = FakeNodeHost()
    stage.answers["n:0:k"] = "yes"
    assert stage.run(doubts) == Completed({"output": ["yes", "yes"]})


@each_case(
    "name, rest",
    ("interrupt", ()),
    ("approve", ("Pay it?",)),
    ("clarify", ({"a": "A?"},)),
    ("wait_for_event", ("paid", {})),
)
def test_a_question_that_is_not_awaited_is_seen(name: str, rest: tuple[Any, ...]) -> None:
    @weftwork.node("acme.forgets")
    async def forgets(ctx: weftwork.Context) -> int:
        call = getattr(ctx, name)("k", *rest)
        assert isinstance(call, Coroutine)
        return await ctx.step("after", lambda: 1)

    stage = FakeNodeHost()
    message = f"ctx.{name} was called without await, so it had no effect; write: await ctx.{name}(...)."
    assert stage.run(forgets) == Failed("node_misused", message, retryable=False)
    assert stage.recorded == {}
