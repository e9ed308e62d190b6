"""Questions that cannot be asked, keys that are taken, calls that nobody awaits: refused before anybody sees them."""

from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import pytest

import weftwork
from tests.adapters.python.calls.asking_nodes import (
    InterruptCall,
    approve,
    asking_node,
    interrupt,
    outcome_of,
    requested_interrupt,
)
from tests.adapters.python.fake_node_host import FakeNodeHost
from weftwork.adapters.python.calls import interrupts
from weftwork.ports.node_outcome import Completed, Failed

REFUSED: list[tuple[InterruptCall, str]] = [
    (interrupt("custom", timeout=0), "timeout of the question k takes seconds or a timedelta, more than 0 and up to"),
    (interrupt("custom", timeout=float("nan")), "timeout of the question k takes seconds"),
    (interrupt("custom", timeout=float("inf")), "timeout of the question k takes seconds"),
    (interrupt("custom", timeout=True), "timeout of the question k takes seconds"),
    (interrupt("custom", timeout="1"), "timeout of the question k takes seconds"),
    (interrupt("custom", timeout=timedelta(days=9999)), "up to 3,660 days"),
    (interrupt("custom", remind_after=[-1]), "remind_after of the question k takes seconds"),
    (interrupt("custom", remind_after=None), "remind_after of the question k takes numbers of seconds"),
    (interrupt("custom", remind_after=range(1, 100)), "/remindAfterMs takes up to 16 numbers"),
    (interrupt("custom", resume_schema=object()), "The schema of the question k is not JSON"),
    (interrupt("custom", resume_schema={"$ref": "https://example.com/x"}), "/resumeSchema/$ref"),
    (interrupt("custom", resume_schema={"type": "wrong"}), "/resumeSchema/type"),
    (interrupt("custom", resume_schema=[]), "/resumeSchema must be"),
    (interrupt("approval", custom_kind="mine"), "only the kind custom takes a custom_kind"),
    (interrupt("approval", default={}), "takes no default: when its time is over it is rejected"),
    (interrupt("conversation.start", timeout=1), "Nobody answers a conversation.start"),
    (interrupt("conversation.close", default=None), "Nobody answers a conversation.close"),
    (interrupt("conversation.close", resume_schema={}), "Nobody answers a conversation.close"),
    (lambda ctx: ctx.interrupt("k", kind=None), "needs one of the kinds"),
    (lambda ctx: ctx.interrupt("k", "text", kind="approval"), "kind, approval: /data must be of type object"),
    (lambda ctx: ctx.interrupt("k", {}, kind="low-confidence"), "kind, low-confidence: /data"),
    (lambda ctx: ctx.interrupt("k", {"conversationId": ""}, kind="conversation.start"), "/data/conversationId"),
    (approve(actions=["agree"]), "/data/actions/0 must be one of"),
    (approve(actions=["ask"]), "/data/actions needs an action that ends the wait"),
    (approve(approvers="ann"), "/data/approversList must be of type array"),
    (approve(approvers=["ann"], required=2), "/data/requiredApprovals must be 1 or less"),
    (approve(required=0), "/data/requiredApprovals"),
    (approve(rejection_policy="never"), "/data/rejectionPolicy must be one of"),
    (approve(artifact=object()), "The data of the question k is not JSON"),
    (lambda ctx: ctx.approve("k", ""), "/data/title"),
    (lambda ctx: ctx.approve("no key", "Title"), "The key of a question takes"),
    (lambda ctx: ctx.clarify("k", {}), "/data/questions"),
    (lambda ctx: ctx.clarify("k", "What?"), "/data/questions must be of type array"),
    (lambda ctx: ctx.clarify("k", [{"id": "a", "question": "A?", "schema": {"type": 1}}]), "/data/questions/0/schema"),
    (lambda ctx: ctx.clarify("k", [{"id": "a", "question": "A?"}] * 2), "must not repeat an id"),
    (lambda ctx: ctx.wait_for_event("k", "paid", 7), "/data/correlation must be of type object"),
]


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(("ask", "why"), REFUSED)
def test_what_cannot_be_asked_is_refused_before_anybody_sees_it(ask: InterruptCall, why: str, plain: bool) -> None:
    found = FakeNodeHost().run(asking_node(ask, plain))
    assert isinstance(found, Failed), found
    assert (found.code, found.retryable) == ("node_misused", False)
    assert why in found.message


@pytest.mark.parametrize("plain", [False, True])
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


@pytest.mark.parametrize("plain", [False, True])
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
    message = "The key k belongs to a question of another kind; give each question a key of its own."
    assert found == Failed("node_misused", message, retryable=False)


@pytest.mark.parametrize(
    "ask", [approve(), lambda ctx: ctx.clarify("k", {"a": "A?"})], ids=["a decision", "answers by id"]
)
def test_an_answer_to_what_older_code_asked_is_not_taken_for_another(ask: InterruptCall) -> None:
    found = outcome_of(ask, "red")
    assert isinstance(found, Failed)
    assert "belongs to a question of another kind" in found.message


def test_asked_again_in_the_same_entry_a_question_has_its_answer() -> None:
    @weftwork.node("acme.doubts")
    async def doubts(ctx: weftwork.Context) -> Any:
        return [await ctx.interrupt("k", {"first": True}), await ctx.interrupt("k", {"first": False})]

    stage = FakeNodeHost()
    stage.answers["n:0:k"] = "yes"
    assert stage.run(doubts) == Completed({"output": ["yes", "yes"]})


@pytest.mark.parametrize("name", ["interrupt", "approve", "clarify", "wait_for_event"])
def test_a_question_that_is_not_awaited_is_seen(name: str) -> None:
    rest: dict[str, Any] = {
        "interrupt": (),
        "approve": ("Pay it?",),
        "clarify": ({"a": "A?"},),
        "wait_for_event": ("paid", {}),
    }

    @weftwork.node("acme.forgets")
    async def forgets(ctx: weftwork.Context) -> int:
        call = getattr(ctx, name)("k", *rest[name])
        assert isinstance(call, Coroutine)
        return await ctx.step("after", lambda: 1)

    stage = FakeNodeHost()
    message = f"ctx.{name} was called without await, so it did not happen."
    assert stage.run(forgets) == Failed("node_misused", message, retryable=False)
    assert stage.recorded == {}
