"""Nodes that ask, in both ways of writing one, and what became of them on a stage."""

from collections.abc import Callable
from typing import Any

import weftwork
from tests.adapters.python.fake_node_host import FakeNodeHost
from weftwork.ports.node_outcome import Completed, NodeOutcome, Suspended
from weftwork.protocol.run.interrupts import Interrupt, Resolution

TIMED_OUT = Resolution(reason="timeout")

InterruptCall = Callable[[Any], Any]


def asking_node(ask: InterruptCall, plain: bool = False) -> Any:
    """A node that asks, in either way of writing one."""

    @weftwork.node("acme.asks")
    async def asks(ctx: weftwork.Context) -> Any:
        return {"got": await ask(ctx)}

    @weftwork.node("acme.asks")
    def asks_plainly(ctx: weftwork.PlainContext) -> Any:
        return {"got": ask(ctx)}

    return asks_plainly if plain else asks


def requested_interrupt(ask: InterruptCall, plain: bool = False) -> Interrupt:
    found = FakeNodeHost().run(asking_node(ask, plain))
    assert isinstance(found, Suspended), found
    return found.interrupt


def outcome_of(ask: InterruptCall, answer: Any, plain: bool = False, key: str = "k") -> NodeOutcome:
    stage = FakeNodeHost()
    stage.answers[f"n:0:{key}"] = answer
    return stage.run(asking_node(ask, plain))


def answer_received(ask: InterruptCall, answer: Any, plain: bool = False) -> Any:
    found = outcome_of(ask, answer, plain)
    assert isinstance(found, Completed), found
    return found.outputs["got"]


APPROVAL = {"artifactId": "a", "artifactType": "b", "title": "c", "actions": ["accept"]}
DATA: dict[str, Any] = {
    "approval": APPROVAL,
    "clarification": {"questions": [{"id": "a", "question": "A?"}]},
    "external-event": {"eventType": "paid", "correlation": {"order": 7}},
    "custom": {"any": ["thing"]},
    "conversation.start": {"conversationId": "c"},
    "conversation.exchange": {"conversationId": "c", "prompt": "Yes?"},
    "conversation.close": {"conversationId": "c", "reason": "done"},
    "low-confidence": {"agentId": "one", "threshold": 0.5, "observed": 0.25},
}


def interrupt(kind: str, **more: Any) -> InterruptCall:
    return lambda ctx: ctx.interrupt("k", DATA[kind], kind=kind, **more)


def approve(**more: Any) -> InterruptCall:
    return lambda ctx: ctx.approve("k", "Pay it?", **more)
