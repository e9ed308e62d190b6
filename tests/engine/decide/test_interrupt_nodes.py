"""Nodes that wait for people, and conversations turn by turn, in real runs: over crashes, in loops, and with time."""

from typing import Any

import msgspec
import pytest

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks, waiting_node_type
from tests.harness.interrupts import ADA, BOB, EVE, answer_refusal, completed_outputs, snapshot_of, start_run
from weftwork.adapters.nodes.people.conversation_gate import MOCK_ANSWER
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.interrupts import Interrupt

DAY = 86_400_000


def gate(**config: Any) -> dict[str, Any]:
    return node("gate", "core.approvalGate", config=config)


async def test_an_approval_from_the_question_to_the_end() -> None:
    bench, key = await start_run(workflow([gate(title="Send?", artifactData={"to": "all"})]))
    assert (await snapshot_of(bench, key))["status"] == "waiting-approval"
    assert await answer_refusal(bench, key, {"action": "maybe"}, "gate") == (400, "validation_error")
    await bench.answer(key, {"action": "accept", "comment": "fine"}, "gate", ADA)
    decided = {"action": "accept", "approved": True, "decidedBy": "key_ada", "feedback": "fine"}
    assert await completed_outputs(bench, key) == {"gate": {**decided, "artifactData": {"to": "all"}}}
    assert [each for each in await bench.event_types(key) if not each.startswith("weftwork.")] == [
        *("run.started", "node.started", "interrupt.requested", "approval.requested", "node.suspended"),
        *("interrupt.resolved", "approval.received", "node.resumed", "node.completed", "run.completed"),
    ]


@pytest.mark.rule("node-06")
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("handled", [False, True])
async def test_a_rejection_fails_the_gate_and_an_edge_may_lead_on(late: bool, handled: bool) -> None:
    """The host dies in between. Thirty days pass without anybody waiting for them."""
    nodes, edges = [gate(timeoutMs=30 * DAY, remindAfterMs=[DAY]), node("paid")], [edge("gate", "paid")]
    if handled:
        nodes.append(node("refused", "core.template", config={"template": "not paid"}))
        edges.append(edge("gate", "refused", "any_failed"))
    before, key = await start_run(workflow(nodes, edges))
    bench = await before.restart()
    if not late:
        await bench.answer(key, {"action": "reject", "feedback": "too much"}, "gate", ADA)
    await bench.run_to_end(key)
    error = (await bench.payload(key, "node.failed"))["error"]
    rejected = {"reason": "rejected", "feedback": "too much", "decidedBy": "key_ada"}
    assert (error["code"], error["details"]) == ("interrupt_rejected", {"reason": "timeout"} if late else rejected)
    assert await bench.status(key) == ("completed" if handled else "failed")
    if handled:
        assert (await bench.payload(key, "run.completed"))["outputs"]["refused"] == {"output": "not paid"}
    kinds = await bench.event_types(key)
    assert kinds.count("weftwork.interrupt.reminder") == int(late)
    assert (kinds.count("approval.received"), kinds.count("node.failed")) == (1, 1)


async def test_two_of_three_decide_and_nobody_decides_twice() -> None:
    bench, key = await start_run(workflow([gate(requiredApprovals=2, approversList=["ada", "bob", "eve"])]))
    assert await answer_refusal(bench, key, {"action": "accept"}, "gate", Answerer("key_x")) == (403, "forbidden")
    for _ in "ab":
        await bench.answer(key, {"action": "accept"}, "gate", ADA)
        assert await bench.status(key) == "waiting-approval"
    await bench.answer(key, {"action": "accept"}, "gate", EVE)
    found = await completed_outputs(bench, key)
    assert found["gate"]["votes"] == {"ada": "accept", "eve": "accept"}
    assert found["gate"]["approved"] is True
    # A majority of those who are needed rejects.
    config = {"requiredApprovals": 2, "approversList": ["ada", "bob", "eve"], "rejectionPolicy": "majority"}
    bench, key = await start_run(workflow([gate(**config)]))
    await bench.answer(key, {"action": "reject"}, "gate", ADA)
    assert await bench.status(key) == "waiting-approval"
    await bench.answer(key, {"action": "reject", "feedback": "no"}, "gate", BOB)
    await bench.run_to_end(key)
    (failed,) = await bench.payloads(key, "run.failed")
    assert failed["error"]["details"] == {"reason": "rejected", "decidedBy": "bob", "feedback": "no"}


async def test_what_was_edited_goes_on_and_what_was_refined_comes_back() -> None:
    """A text is written, refined once, edited, and sent as it was edited."""
    write = node("write", "core.template", config={"template": "draft {{variables.n}}"})
    count = node(
        "count", "core.setVariable", config={"name": "n"}, inputs={"value": {"type": "expression", "expression": "2"}}
    )
    review = node(
        "review",
        "core.approvalGate",
        config={"actions": ["accept", "refine", "edit-accept"]},
        inputs={"artifactData": {"type": "connection", "nodeId": "write", "outputKey": "output"}},
    )
    send = node(
        "send",
        "core.identity",
        inputs={"text": {"type": "connection", "nodeId": "review", "outputKey": "artifactData"}},
    )
    again = {"type": "expression", "expression": "nodes.review.outputs.approved == false"}
    done = {"type": "expression", "expression": "nodes.review.outputs.approved"}
    edges = [
        edge("write", "review"),
        edge("review", "count", condition=again),
        edge("count", "write"),
        edge("review", "send", condition=done),
    ]
    document = workflow([write, review, count, send], edges, [variable("n", "number", defaultValue=1)])
    bench, key = await start_run(document)
    assert (await snapshot_of(bench, key))["interrupt"]["data"]["artifactData"] == "draft 1"
    better = {"action": "refine", "refineFeedback": {"scope": "whole", "text": "shorter"}}
    await bench.answer(key, better, "review", ADA)
    await run_ready_tasks()
    asked = (await snapshot_of(bench, key))["interrupt"]
    assert (asked["data"]["artifactData"], asked["key"], asked["data"]["artifactId"]) == (
        "draft 2",
        "review:1",
        "review-1",
    )
    await bench.answer(key, {"action": "edit-accept", "editedArtifactData": "final"}, "review", ADA)
    assert await completed_outputs(bench, key) == {"send": {"text": "final"}}


QUESTIONS = [{"id": "when", "question": "When?"}, {"id": "many", "question": "How many?", "schema": {"minimum": 1}}]


@pytest.mark.parametrize("form", ["object", "list"])
async def test_questions_are_answered_and_answers_are_checked(form: str) -> None:
    ask = node("ask", "core.clarificationGate", config={"questions": QUESTIONS})
    bench, key = await start_run(workflow([ask]))
    assert await bench.status(key) == "waiting-input"
    assert await answer_refusal(bench, key, {"answers": {"when": "now", "many": 0}}, "ask") == (400, "validation_error")
    answers: Any = {"when": "now", "many": 3}
    given = answers if form == "object" else [{"id": name, "answer": each} for name, each in answers.items()]
    await bench.answer(key, {"answers": given}, "ask", ADA)
    assert await completed_outputs(bench, key) == {"ask": {"answers": answers}}


@pytest.mark.parametrize("defaults", [None, {"when": "any day", "many": 1}])
async def test_questions_that_nobody_answers(defaults: dict[str, Any] | None) -> None:
    config: dict[str, Any] = {"questions": QUESTIONS, "timeoutMs": DAY}
    ask = node("ask", "core.clarificationGate", config=config | ({"defaultAnswers": defaults} if defaults else {}))

    bench, key = await start_run(workflow([ask]))
    if defaults is not None:
        assert await completed_outputs(bench, key) == {"ask": {"answers": defaults}}
        return
    await bench.run_to_end(key)
    assert (await bench.payload(key, "run.failed"))["error"]["code"] == "interrupt_timeout"


async def test_questions_of_a_port_that_cannot_be_asked_fail_the_node() -> None:
    ports = {"questions": {"type": "variable", "variableName": "q"}}
    document = workflow([node("ask", "core.clarificationGate", inputs=ports)], [], [variable("q", "array")])
    for questions in ([QUESTIONS[0]] * 2, [{"id": "a", "question": "A?", "schema": {"$ref": "http://x"}}]):
        bench, key = await start_run(document, inputs={"q": questions})
        assert (await bench.payload(key, "run.failed"))["error"]["code"] == "node_misused"
    bench, key = await start_run(document, inputs={"q": QUESTIONS})
    assert await bench.status(key) == "waiting-input"
    await bench.close()


async def test_an_event_from_outside_is_known_by_what_the_run_knows() -> None:
    wait = node(
        "wait",
        "core.interrupt",
        config={"kind": "external-event", "data": {"eventType": "paid"}, "timeoutMs": DAY, "defaultValue": None},
        inputs={"correlation": {"type": "expression", "expression": "{'orderId': variables.order}"}},
    )
    document = workflow([wait], [], [variable("order")])
    bench, key = await start_run(document, inputs={"order": "o-7"})
    assert await bench.status(key) == "waiting-external"
    for event in ({"orderId": "o-8"}, {"orderId": 7}, {}, "o-7"):
        assert await answer_refusal(bench, key, event, "wait") == (422, "validation_error")
    event = {"orderId": "o-7", "amount": 12}
    await bench.answer(key, event, "wait", ADA)
    assert await completed_outputs(bench, key) == {"wait": {"output": event}}
    bench, key = await start_run(document, inputs={"order": "o-9"})
    assert await completed_outputs(bench, key) == {"wait": {"output": None}}


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
    assert (await bench.payload(key, "node.suspended"))["reason"] == "conversation-input"
    with pytest.raises(ClientFault) as caught:
        await bench.answer(key, 7, "talk", PERSON)
    assert (caught.value.status, caught.value.code) == (400, "validation_error")
    assert (caught.value.details or {})["pointer"] == "/resumeValue"
    bench.clock.advance(5)
    await bench.answer(key, "Ada", "talk", PERSON)
    await run_ready_tasks()
    bench = await bench.restart()
    bench.clock.advance(5)
    await bench.answer(key, {"years": 36}, "talk", PERSON)
    await bench.run_to_end(key)
    opening: dict[str, Any] = {"messageId": "talk.0.0", "from": "talk", "content": "Welcome.", "role": "system"}
    opening |= {"turnIndex": 0, "ts": began}
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
    assert (await bench.payload(key, "node.completed"))["outputs"]["heard"] == [None, "Ada", {"years": 36}, None]
    assert (await bench.event_types(key)).count("node.started") == 1


async def test_a_turn_that_answers_itself_waits_for_nobody() -> None:
    bench = EngineHarness(talks(START, FIRST, SECOND, CLOSE, instead="ok"))
    key = await bench.execute(workflow([node("talk", "test.talk")]))
    assert [kind for kind, _ in await told(bench, key)] == ["opened", "exchanged", "exchanged", "closed"]
    kinds = await bench.event_types(key)
    assert "node.suspended" not in kinds
    assert kinds.count("interrupt.requested") == kinds.count("interrupt.resolved") == 4


@pytest.mark.rule("conv-04")
@each_case(
    "steps",
    (FIRST,),
    (CLOSE,),
    (START, said("again", "start")),
    (START, CLOSE, SECOND),
    (said("s", "start"), said("e", "close"), said("f", "close")),
)
@fails_without("weftwork.engine.decide.transitions.request_refusal", lambda *arguments: None)
async def test_a_conversation_out_of_order_fails_its_node(steps: tuple[Interrupt, ...]) -> None:
    bench, key = await EngineHarness(talks(*steps)).with_settled_run(workflow([node("talk", "test.talk")]))
    assert await bench.status(key) == "failed"
    assert (await bench.payload(key, "node.failed"))["error"]["code"] == "node_misused"
    assert [kind for kind, _ in await told(bench, key)] in ([], ["opened"], ["opened", "closed"])


CHANNEL: dict[str, Any] = {"conversation": {"schema": {"type": "array"}, "reducer": "message"}}
TALK = {"prompts": ["When?", "{{answer}}, and then?", "Sure?"], "initialPrompt": "A trip.", "outcomeSchema": {}}


async def test_a_conversation_goes_on_turn_by_turn_over_crashes() -> None:
    document = workflow([node("talk", "core.conversationGate", config=TALK)], channels=CHANNEL)
    bench, key = await start_run(document)
    for turn, (prompt, value) in enumerate((("When?", "May"), ("May, and then?", {"to": 3}), ("Sure?", True)), 1):
        await run_ready_tasks()
        found = await snapshot_of(bench, key)
        asked = found["interrupt"]
        assert (found["status"], asked["kind"]) == ("waiting-approval", "conversation.exchange")
        assert (asked["data"]["prompt"], asked["data"]["turnIndex"]) == (prompt, turn)
        bench = await bench.restart()
        await bench.answer(key, value, "talk", ADA)
    found = (await completed_outputs(bench, key))["talk"]
    assert [each["answer"] for each in found["turns"]] == ["May", {"to": 3}, True]
    assert found["outcome"] is True
    kinds = await bench.event_types(key)
    told = [each for each in kinds if each.startswith(("conversation.", "clarification."))]
    assert told == ["conversation.opened", *["conversation.exchanged"] * 3, "conversation.closed"]
    assert kinds.index("conversation.closed") < kinds.index("node.completed")
    assert kinds.count("node.started") == 1
    ids = {each["conversationId"] for each in await bench.payloads(key, "conversation.exchanged")}
    assert ids == {found["conversationId"]} == {f"{key.run_id}:talk:0"}
    said = (await snapshot_of(bench, key))["channels"]["conversation"]
    assert [(each["role"], each["content"]) for each in said] == [
        *(("system", "A trip."), ("system", "When?"), ("user", "May"), ("system", "May, and then?")),
        *(("user", {"to": 3}), ("system", "Sure?"), ("user", True)),
    ]


async def test_a_conversation_that_answers_itself_says_the_same_in_every_run() -> None:
    config = {"mockAutoResume": True, "turnCount": 3}
    document = workflow([node("talk", "core.conversationGate", config=config)], channels=CHANNEL)
    bench, first = await start_run(document)
    second = await bench.start(document)
    texts: list[bytes] = []
    for key in (first, second):
        found = (await completed_outputs(bench, key))["talk"]
        assert [each["answer"] for each in found["turns"]] == [MOCK_ANSWER] * 3
        said = (await snapshot_of(bench, key))["channels"]["conversation"]
        assert len(said) == 6
        texts.append(msgspec.json.encode(said))
        kinds = await bench.event_types(key)
        assert not {"node.suspended", "clarification.requested"} & set(kinds)
        assert kinds.count("conversation.exchanged") == 3
    assert texts[0] == texts[1]


async def test_a_conversation_in_a_loop_is_a_new_one_each_round() -> None:
    talk = node("talk", "core.conversationGate", config={"mockAutoResume": True})
    document = workflow(
        [node("l", "core.loop", config={"times": 2}), talk, node("end")],
        [edge("l", "talk", sourceOutput="body"), edge("talk", "l"), edge("l", "end", sourceOutput="done")],
        channels=CHANNEL,
    )
    bench, key = await start_run(document)
    await completed_outputs(bench, key)
    opened = await bench.payloads(key, "conversation.opened")
    assert [each["conversationId"] for each in opened] == [f"{key.run_id}:talk:0", f"{key.run_id}:talk:1"]
    assert len((await snapshot_of(bench, key))["channels"]["conversation"]) == 4


async def test_a_turn_that_nobody_takes_closes_the_conversation() -> None:
    document = workflow([node("talk", "core.conversationGate", config={"timeoutMs": DAY, "turnCount": 2})])
    bench, key = await start_run(document)
    await bench.answer(key, "one", "talk", ADA)
    await bench.run_to_end(key)
    assert (await bench.payload(key, "run.failed"))["error"]["code"] == "interrupt_timeout"
    assert (await bench.payload(key, "conversation.closed"))["outcome"] == {"reason": "timeout"}


@pytest.mark.rule("hide-03")
@fails_without("weftwork.protocol.workflow.definition.Node.writes_channel", None)
async def test_what_is_asked_about_something_sensitive_stays_hidden() -> None:
    """In the question, in the answer, and in the channel that a conversation fills without naming it."""
    talk = node("talk", "core.conversationGate", config={"prompt": "Is {{variables.pin}} right?"})
    document = workflow([talk], [], [variable("pin", sensitive=True)], channels=CHANNEL)
    bench, key = await start_run(document, inputs={"pin": "4711-secret"})
    first = msgspec.json.encode(await snapshot_of(bench, key))
    await bench.answer(key, "no, 4712-secret", "talk", ADA)
    await bench.run_to_end(key)
    text = b"".join(event.document for event in await bench.events(key))
    text += first + msgspec.json.encode(await snapshot_of(bench, key))
    assert b"4711" not in text
    assert b"4712" not in text
