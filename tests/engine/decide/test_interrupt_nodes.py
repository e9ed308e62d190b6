"""Nodes that wait for people, in real runs: what they ask, what their answers lead to, over crashes and time."""

from typing import Any

import pytest

from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import run_ready_tasks
from tests.harness.interrupts import ADA, BOB, EVE, answer_refusal, completed_outputs, snapshot_of, start_run
from weftwork.protocol.people.approvals import Answerer

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
    await before.crash()
    bench = before.successor()
    await bench.executor.recover()
    if not late:
        await bench.answer(key, {"action": "reject", "feedback": "too much"}, "gate", ADA)
    await bench.run_to_end(key)
    (failed,) = await bench.payloads(key, "node.failed")
    error = failed["error"]
    reason = {"reason": "timeout"} if late else {"reason": "rejected", "feedback": "too much"}
    assert (error["code"], error["details"]) == (
        "interrupt_rejected",
        reason if late else {**reason, "decidedBy": "key_ada"},
    )
    assert await bench.status(key) == ("completed" if handled else "failed")
    if handled:
        (completed,) = await bench.payloads(key, "run.completed")
        assert completed["outputs"]["refused"] == {"output": "not paid"}
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


async def test_a_majority_of_those_who_are_needed_rejects() -> None:
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

    async def work() -> None:
        bench, key = await start_run(workflow([ask]))
        if defaults is not None:
            assert await completed_outputs(bench, key) == {"ask": {"answers": defaults}}
            return
        await bench.run_to_end(key)
        (failed,) = await bench.payloads(key, "run.failed")
        assert failed["error"]["code"] == "interrupt_timeout"

    await work()


async def test_questions_of_a_port_that_cannot_be_asked_fail_the_node() -> None:
    ports = {"questions": {"type": "variable", "variableName": "q"}}
    document = workflow([node("ask", "core.clarificationGate", inputs=ports)], [], [variable("q", "array")])

    for questions in ([QUESTIONS[0]] * 2, [{"id": "a", "question": "A?", "schema": {"$ref": "http://x"}}]):
        bench, key = await start_run(document, inputs={"q": questions})
        (failed,) = await bench.payloads(key, "run.failed")
        assert failed["error"]["code"] == "node_misused"
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
