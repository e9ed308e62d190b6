"""Every kind of question: what is asked, what each takes for an answer, what the log says of it."""

from typing import Any

import msgspec
import pytest

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome, Suspended
from weftwork.ports.nodes import InstantNode, NodeCall
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.interrupts import INTERRUPT_KINDS, STATUS_BY_KIND, Interrupt
from weftwork.protocol.workflow.node_types import NodeDeclaration

GATE = {"artifactId": "a", "artifactType": "t", "title": "Pay it?", "actions": ["accept", "reject"]}
QUESTIONS = {
    "questions": [{"id": "q1", "question": "Which?"}, {"id": "q2", "question": "When?", "schema": {"type": "integer"}}]
}
EVENT = {"eventType": "order.done", "correlation": {"orderId": "o-1", "done": True}}
LOW = {"agentId": "agent-1", "threshold": 0.7, "observed": 0.5, "decision": {"go": "north"}}
DATA: dict[str, dict[str, Any]] = {
    "approval": GATE,
    "clarification": QUESTIONS,
    "external-event": EVENT,
    "custom": {"customKind": "pick"},
    "low-confidence": LOW,
}
GOOD: dict[str, Any] = {
    "approval": {"action": "accept"},
    "clarification": {"answers": [{"id": "q2", "answer": 2}, {"id": "q1", "answer": "this"}]},
    "external-event": {"orderId": "o-1", "done": True, "more": 1},
    "custom": [1, None],
    "low-confidence": {"go": "south"},
}


def asks(interrupt: Interrupt) -> InstantNode:
    def work(call: NodeCall) -> NodeOutcome:
        found = call.answers.get(interrupt.key)
        if found is None:
            return Suspended(interrupt)
        return Failed("interrupt_timeout", "Late.") if found.timed_out else Completed({"output": found.value})

    return InstantNode(NodeDeclaration("test.ask", "Asks.", config={"type": "object"}), work)


async def asked(kind: str, data: dict[str, Any] | None = None, **more: Any) -> tuple[EngineHarness, RunKey]:
    bench = EngineHarness(asks(Interrupt(kind, "q", data if data is not None else DATA[kind], **more)))
    key = await bench.start(workflow([node("ask", "test.ask")]))
    await run_ready_tasks()
    return bench, key


async def refused(bench: EngineHarness, key: RunKey, value: Any, by: Answerer | None = None) -> tuple[int, str, Any]:
    before = await bench.event_types(key)
    with pytest.raises(ClientFault) as caught:
        await bench.answer(key, value, by=by or Answerer("key_1"))
    assert await bench.event_types(key) == before
    return caught.value.status, caught.value.code, (caught.value.details or {}).get("pointer")


@pytest.mark.rule("int-01", "int-13", "int-14")
@pytest.mark.parametrize("kind", DATA)
async def test_each_kind_waits_as_it_should_and_takes_its_answer(kind: str) -> None:
    more = {
        "approval": ("approval.requested", "approval.received"),
        "clarification": ("clarification.requested", "clarification.resolved"),
    }
    before, after = more.get(kind, ("", ""))
    wanted = ["interrupt.requested", before, "node.suspended", "interrupt.resolved", after, "node.resumed"]
    bench, key = await asked(kind)
    assert await bench.status(key) == STATUS_BY_KIND[kind]
    assert await bench.answer(key, GOOD[kind]) == "completed"
    for event in await bench.events(key):
        document = msgspec.json.decode(event.document)
        assert schema.check("run-event", document) == []
        assert schema.check_payload(event.type, document["payload"]) == [], event.type
        if event.type.startswith(("interrupt.", "approval.", "clarification.", "node.suspended")):
            assert (document["interruptId"], document["nodeId"]) == ("ask.1", "ask")
    assert (await bench.event_types(key))[2:-2] == [each for each in wanted if each]


@pytest.mark.rule("int-04")
async def test_a_suspension_says_why_where_its_kind_has_a_reason() -> None:
    bench, key = await asked("low-confidence", remind_after_ms=(5, 10))
    (said,) = await bench.payloads(key, "node.suspended")
    more = {"agentId": "agent-1", "threshold": 0.7, "observed": 0.5, "remindAfterMs": [5, 10]}
    plain = {"nodeId": "ask", "interruptId": "ask.1", "kind": "low-confidence", "key": "q"}
    assert said == {**plain, "reason": "low-confidence", **more}
    assert {kind.reason for kind in INTERRUPT_KINDS.values()} == {None, "conversation-input", "low-confidence"}


@pytest.mark.rule("int-11")
async def test_answers_to_questions_are_kept_by_id_whatever_form_they_come_in() -> None:
    wanted = {"answers": {"q1": "this", "q2": 2}}
    for value in (GOOD["clarification"], wanted):
        bench, key = await asked("clarification")
        await bench.answer(key, value)
        assert (await bench.payload(key, "interrupt.resolved"))["resumeValue"] == wanted
        (said,) = await bench.payloads(key, "clarification.resolved")
        assert said == {"nodeId": "ask", "answers": wanted["answers"], "answeredBy": "key_1"}


@pytest.mark.rule("int-09", "int-11")
@each_case(
    "value",
    None,
    "this",
    {},
    {"answers": {}},
    {"answers": {"q1": "this"}},
    {"answers": {"q1": None, "q2": 1}},
    {"answers": {"q1": "x", "q2": "two"}},
    {"answers": {"q1": "x", "q2": 2, "q3": 3}},
    {"answers": [{"id": "q1", "answer": "x"}, {"id": "q1", "answer": "y"}, {"id": "q2", "answer": 2}]},
    {"answers": [{"id": "q1"}, {"id": "q2", "answer": 2}]},
    {"answers": ["x", 2]},
)
async def test_a_question_without_a_fitting_answer_stays_open(value: Any) -> None:
    bench, key = await asked("clarification")
    assert (await refused(bench, key, value))[:2] == (400, "validation_error")
    assert await bench.answer(key, GOOD["clarification"]) == "completed"


@pytest.mark.rule("int-12")
@pytest.mark.parametrize(
    "value",
    [
        None,
        {"orderId": "o-1"},
        {"orderId": "o-2", "done": True},
        {"orderId": "o-1", "done": 1},
        {"eventPayload": {"orderId": "o-1"}},
        ["o-1", True],
    ],
)
def test_an_event_that_is_not_the_one_changes_nothing(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        bench, key = await asked("external-event")
        assert await refused(bench, key, value) == (422, "validation_error", "/resumeValue")
        assert await bench.answer(key, {"eventPayload": GOOD["external-event"]}) == "completed"

    run(work)
    monkeypatch.setattr("weftwork.protocol.people.interrupt_validation._matches_correlation", lambda *arguments: True)
    if isinstance(value, dict):
        with pytest.raises(pytest.fail.Exception):
            run(work)


@pytest.mark.rule("int-08")
@each_case(
    "interrupt, pointer",
    (Interrupt("shout", "q", {}), "/kind"),
    (Interrupt("custom", "", {"customKind": "x"}), "/key"),
    (Interrupt("custom", "q" * 257, {"customKind": "x"}), "/key"),
    (Interrupt("custom", "q", {"customKind": "x", "y": 1}), "/data/y"),
    (Interrupt("custom", "q", {"customKind": "x"}, {"$ref": "file:///etc/passwd"}), "/resumeSchema/$ref"),
    (Interrupt("custom", "q", {"customKind": "x"}, {"$dynamicRef": "#a"}), "/resumeSchema/$dynamicRef"),
    (Interrupt("custom", "q", {"customKind": "x"}, timeout_ms=-1), "/timeoutMs"),
    (Interrupt("custom", "q", {"customKind": "x"}, remind_after_ms=(5, 5)), "/remindAfterMs"),
    (Interrupt("custom", "q", {"customKind": "x"}, remind_after_ms=tuple(range(1, 18))), "/remindAfterMs"),
    (Interrupt("clarification", "q", {"questions": []}), "/data/questions"),
    (Interrupt("clarification", "q", {"questions": [QUESTIONS["questions"][0]] * 2}), "/data/questions"),
    (
        Interrupt(
            "clarification", "q", {"questions": [{"id": "a", "question": "b", "schema": {"pattern": "(a+)+\\1"}}]}
        ),
        "/data/questions/0/schema/pattern",
    ),
    (Interrupt("approval", "q", {**GATE, "actions": ["ask"]}), "/data/actions"),
    (Interrupt("approval", "q", {**GATE, "actions": ["edit-accept"], "requiredApprovals": 2}), "/data/actions"),
    (
        Interrupt("approval", "q", {**GATE, "requiredApprovals": 2, "approversList": ["a"]}),
        "/data/requiredApprovals",
    ),
    (Interrupt("approval", "q", {**GATE, "approversList": ["a", "a"]}), "/data/approversList"),
    (
        Interrupt("conversation.exchange", "q", {"conversationId": "c", "prompt": "?", "outcomeSchema": {"$id": "x"}}),
        "/data/outcomeSchema/$id",
    ),
    (Interrupt("conversation.exchange", "q", {"conversationId": "c", "prompt": "?"}), None),
)
async def test_what_cannot_be_asked_fails_its_node(interrupt: Interrupt, pointer: str | None) -> None:
    bench, key = await EngineHarness(asks(interrupt)).with_ended_run(workflow([node("ask", "test.ask")]))
    (failed,) = await bench.payloads(key, "node.failed")
    assert failed["error"]["code"] == "node_misused"
    assert failed["error"].get("details", {}).get("pointer") == pointer
    assert "interrupt.requested" not in await bench.event_types(key)


@pytest.mark.rule("int-10")
@fails_without("weftwork.protocol.people.interrupt_validation.check_value", lambda *arguments: [])
async def test_an_answer_of_any_kind_fits_the_schema_of_its_question() -> None:
    bench, key = await asked("approval", resume_schema={"type": "object", "required": ["feedback"]})
    assert await refused(bench, key, {"action": "accept"}) == (400, "validation_error", "/resumeValue")
    assert await bench.answer(key, {"action": "accept", "feedback": "fine"}) == "completed"


@pytest.mark.rule("appr-05")
@pytest.mark.parametrize("kind", ["approval", "low-confidence"])
@fails_without("weftwork.engine.decide.interrupts.check_answer_trust", lambda *arguments: None)
async def test_nothing_untrusted_advances_an_approval(kind: str) -> None:
    model = Answerer("agent", trust="untrusted", may_delegate=True, may_override=True)
    bench, key = await asked(kind)
    assert (await refused(bench, key, GOOD[kind], model))[:2] == (403, "untrusted_content_blocks_approval")
    other, asking = await asked("clarification")
    assert await other.answer(asking, GOOD["clarification"], by=model) == "completed"
    assert await bench.answer(key, GOOD[kind]) == "completed"


async def test_an_answer_that_names_another_question_is_refused() -> None:
    bench, key = await asked("custom")
    with pytest.raises(ClientFault, match="interrupt_not_found"):
        await bench.answer(key, 1, interrupt_id="ask.2")
    assert await bench.answer(key, 1, interrupt_id="ask.1") == "completed"
