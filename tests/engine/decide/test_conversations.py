"""Conversations: opened once, turn by turn, closed for good; the log tells every turn and outlives the host."""

from typing import Any

import msgspec
import pytest

from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks, waiting_node_type
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.json import schema
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.interrupts import Interrupt

PERSON = Answerer("link:7", bound_person="ada", has_key=False)


def said(key: str, kind: str, **more: Any) -> Interrupt:
    return Interrupt(f"conversation.{kind}", key, {"conversationId": "c", **more})


def talks(*steps: Interrupt, instead: Any = None) -> Any:
    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        heard: list[Any] = []
        for step in steps:
            mock = {"instead": instead} if instead is not None and step.kind == "conversation.exchange" else {}
            heard.append((await context.ask(step, **mock)).value)
        return Completed({"heard": heard})

    return waiting_node_type("test.talk", body)


START = said("s", "start", initialPrompt="Welcome.")
FIRST = said("1", "exchange", prompt="Name?", outcomeSchema={"type": "string"})
SECOND = said("2", "exchange", prompt="Age?")
CLOSE = said("e", "close", reason="done")


async def told(bench: EngineHarness, key: RunKey) -> list[tuple[str, dict[str, Any]]]:
    events = await bench.events(key)
    found = [event for event in events if event.type.startswith("conversation.")]
    for event in events:
        assert schema.check_payload(event.type, msgspec.json.decode(event.payload)) == []
    return [(event.type.removeprefix("conversation."), msgspec.json.decode(event.payload)) for event in found]


@pytest.mark.rule("conv-01", "conv-02", "conv-03", "int-19")
async def test_a_conversation_is_told_turn_by_turn_and_outlives_its_host() -> None:
    bench = EngineHarness(talks(START, FIRST, SECOND, CLOSE))
    key = await bench.start(workflow([node("talk", "test.talk")]))
    await run_ready_tasks()
    began = bench.clock.now()
    assert (await bench.status(key), bench.executor.live_count) == ("waiting-approval", 0)
    (suspended,) = await bench.payloads(key, "node.suspended")
    assert suspended["reason"] == "conversation-input"
    bench.clock.advance(5)
    await bench.answer(key, "Ada", "talk", PERSON)
    await run_ready_tasks()
    await bench.crash()
    bench = bench.successor()
    await bench.executor.recover()
    bench.clock.advance(5)
    await bench.answer(key, {"years": 36}, "talk", PERSON)
    await bench.run_to_end(key)
    opening: dict[str, Any] = {
        "ts": began,
        "messageId": "talk.0.0",
        "from": "talk",
        "content": "Welcome.",
        "role": "system",
        "turnIndex": 0,
    }
    one = {"messageId": "talk.0.1", "from": "ada", "content": "Ada", "role": "user", "turnIndex": 1}
    one["ts"] = began + 5
    two = {**one, "messageId": "talk.0.2", "content": {"years": 36}, "turnIndex": 2, "ts": began + 10}
    assert await told(bench, key) == [
        ("opened", {"conversationId": "c", "initialTurn": opening, "capabilities": ["multi-turn"]}),
        ("exchanged", {"conversationId": "c", "turnIndex": 1, "turn": one}),
        ("exchanged", {"conversationId": "c", "turnIndex": 2, "turn": two}),
        ("closed", {"conversationId": "c", "turnIndex": 2, "finalTurn": two, "outcome": {"reason": "done"}}),
    ]
    assert not any(kind.startswith("clarification.") for kind in await bench.event_types(key))
    (completed,) = await bench.payloads(key, "node.completed")
    assert completed["outputs"]["heard"] == [None, "Ada", {"years": 36}, None]
    assert (await bench.event_types(key)).count("node.started") == 1


async def test_an_answer_that_does_not_fit_the_turn_is_refused() -> None:
    from tests.engine.decide.test_answers import refused

    bench = EngineHarness(talks(START, FIRST, CLOSE))
    key = await bench.start(workflow([node("ask", "test.talk")]))
    await run_ready_tasks()
    assert await refused(bench, key, 7) == (400, "validation_error", "/resumeValue")
    await bench.answer(key, "Ada")
    await bench.run_to_end(key)


async def test_a_turn_that_answers_itself_waits_for_nobody() -> None:
    bench = EngineHarness(talks(START, FIRST, SECOND, CLOSE, instead="ok"))
    key = await bench.start(workflow([node("talk", "test.talk")]))
    await bench.run_to_end(key)
    assert [kind for kind, _ in await told(bench, key)] == ["opened", "exchanged", "exchanged", "closed"]
    kinds = await bench.event_types(key)
    assert "node.suspended" not in kinds
    assert kinds.count("interrupt.requested") == kinds.count("interrupt.resolved") == 4


@pytest.mark.rule("conv-04")
@pytest.mark.parametrize(
    "steps",
    [
        (FIRST,),
        (CLOSE,),
        (START, said("again", "start")),
        (START, CLOSE, SECOND),
        (said("s", "start"), said("e", "close"), said("f", "close")),
    ],
)
def test_a_conversation_out_of_order_fails_its_node(
    steps: tuple[Interrupt, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        bench = EngineHarness(talks(*steps))
        key = await bench.start(workflow([node("talk", "test.talk")]))
        await run_ready_tasks()
        assert await bench.status(key) == "failed"
        (failed,) = await bench.payloads(key, "node.failed")
        assert failed["error"]["code"] == "node_misused"
        kinds = [kind for kind, _ in await told(bench, key)]
        assert kinds in ([], ["opened"], ["opened", "closed"])

    run(work)
    monkeypatch.setattr("weftwork.engine.decide.transitions.request_refusal", lambda *arguments: None)
    with pytest.raises((AssertionError, KeyError)):
        run(work)
