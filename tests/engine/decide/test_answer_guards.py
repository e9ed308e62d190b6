"""What an answer may not smuggle in: contradictions, made-up names, markers of hidden values, and costly values."""

from typing import Any

import pytest

from tests.engine.decide.test_answers import asked, refused
from tests.engine.decide.test_votes import ALL, gate, said
from tests.harness.definitions import node, variable, workflow
from tests.harness.engine_harness import EngineHarness, run, run_ready_tasks
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.people.approvals import Answerer
from weftwork.protocol.people.interrupt_validation import MAX_SCHEMA_BYTES, check_interrupt
from weftwork.protocol.run.interrupts import Interrupt

SECRET = "4711-secret"


@pytest.mark.rule("appr-02", "appr-08")
@pytest.mark.parametrize(
    "value",
    [
        {"action": "accept", "decision": "rejected"},
        {"action": "accept", "decision": "approved"},
        {"action": "accept", "editedArtifactData": 1},
        {"action": "reject", "refineFeedback": {"scope": "whole"}},
        {"action": "accept", "voter": "quorum:3-of-3"},
        {"action": "accept", "voter": "link:7"},
        {"action": "accept", "decidedBy": "ada\nbob"},
        {"action": "accept", "voter": "ada\u202e"},
    ],
)
def test_an_answer_that_contradicts_itself_or_pretends_is_refused(
    value: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        bench, key = await asked("approval", gate(actions=ALL))
        assert (await refused(bench, key, value))[:2] == (400, "validation_error")

    run(work)
    monkeypatch.setattr("weftwork.protocol.people.approvals._REQUIRED_MEMBERS", {})
    monkeypatch.setattr("weftwork.protocol.people.approvals._upgrade_legacy_answer", lambda value, actions: value)
    monkeypatch.setattr("weftwork.protocol.people.approvals._ANSWER_SCHEMA", {"type": "object"})
    with pytest.raises(pytest.fail.Exception):
        run(work)


async def test_whose_vote_it_was_is_not_for_the_one_who_votes_to_say() -> None:
    bench, key = await asked("approval", gate(actions=ALL))
    link = Answerer("link:1", bound_person="ada", has_key=False)
    value = {"action": "accept", "voter": "bob", "votes": {"bob": "accept"}}
    assert await bench.answer(key, value, by=link) == "completed"
    (resolved,) = await said(bench, key, "interrupt.resolved")
    assert resolved["resumeValue"] == {"action": "accept", "decidedBy": "ada"}


@pytest.mark.rule("appr-04")
async def test_sent_back_by_one_and_refused_by_others_is_refused() -> None:
    back = {"action": "refine", "refineFeedback": {"scope": "whole"}}
    policy = {"requiredApprovals": 3, "rejectionPolicy": "majority"}
    bench, key = await asked("approval", gate(actions=["accept", "reject", "refine"], **policy))
    await bench.answer(key, {"action": "reject", "voter": "a"})
    assert await bench.answer(key, {**back, "voter": "b"}) == "completed"
    (resolved,) = await said(bench, key, "interrupt.resolved")
    assert resolved["outcome"] == "rejected"


@pytest.mark.rule("hide-03")
def test_no_refusal_says_what_a_hidden_question_would_take(monkeypatch: pytest.MonkeyPatch) -> None:
    port = {"questions": {"type": "variable", "variableName": "form"}}
    ask = node("ask", "core.clarificationGate", config={}, inputs=port)
    document = workflow([ask], [], [variable("form", "array", sensitive=True)])
    form = [{"id": "q", "question": "Which?", "schema": {"enum": [SECRET, "other"]}}]

    async def work() -> str:
        bench = EngineHarness()
        key = await bench.start(document, inputs={"form": form})
        await run_ready_tasks()
        with pytest.raises(ClientFault) as caught:
            await bench.answer(key, {"answers": {"q": "wrong"}})
        return f"{caught.value} {caught.value.details}"

    assert SECRET not in run(work)
    monkeypatch.setattr("weftwork.engine.decide.interrupts._is_hidden", lambda *arguments: False)
    assert SECRET in run(work)


@pytest.mark.rule("hide-03")
def test_a_marker_is_no_answer_to_a_hidden_question(monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"kind": "custom", "data": {"customKind": "pick"}}
    ask = node("ask", "core.interrupt", config=config, inputs={"payload": {"type": "variable", "variableName": "pin"}})

    async def work() -> None:
        bench = EngineHarness()
        key = await bench.start(workflow([ask], [], [variable("pin", sensitive=True)]), inputs={"pin": SECRET})
        shown = (await bench.payloads(key, "interrupt.requested"))[0]["data"]["payload"]
        assert (await refused(bench, key, {"use": shown}))[:2] == (400, "validation_error")
        assert await bench.answer(key, {"use": "something else"}) == "completed"

    run(work)
    monkeypatch.setattr("weftwork.engine.decide.interrupts.MARKER_PREFIX", "never")
    with pytest.raises(pytest.fail.Exception):
        run(work)


@pytest.mark.rule("int-08", "int-09")
def test_what_all_questions_cost_together_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def questions(count: int, schema: dict[str, Any]) -> dict[str, Any]:
        return {"questions": [{"id": f"q{at}", "question": "?", "schema": schema} for at in range(count)]}

    large = questions(10, {"enum": ["x" * 1000 + str(at) for at in range(MAX_SCHEMA_BYTES // 10_000)]})
    assert check_interrupt(Interrupt("clarification", "k", questions(1, large["questions"][0]["schema"]))) == []
    more = questions(20, large["questions"][0]["schema"])
    assert [each.rule for each in check_interrupt(Interrupt("clarification", "k", more))] == ["size"]

    async def work() -> None:
        bench, key = await asked("clarification", questions(20, {"type": "array", "items": {"type": "integer"}}))
        answers = {f"q{at}": list(range(5000)) for at in range(20)}
        assert (await refused(bench, key, {"answers": answers}))[:2] == (400, "validation_error")
        assert await bench.answer(key, {"answers": {name: [1] for name in answers}}) == "completed"

    run(work)
    monkeypatch.setattr("weftwork.protocol.people.interrupt_validation.MAX_STEPS", 10**9)
    with pytest.raises(pytest.fail.Exception):
        run(work)
