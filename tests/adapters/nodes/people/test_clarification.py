"""core.clarificationGate on its own."""

from typing import Any

import pytest

from tests.adapters.nodes.fake_context import EvaluatingScope, node_call, run_node
from weftwork.ports.node_outcome import Completed, Failed, Suspended
from weftwork.protocol.run.interrupts import TIMEOUT_REASON, Interrupt, Resolution

GATE = "core.clarificationGate"
ASKED = [{"id": "a", "question": "A?"}, {"id": "b", "question": "B?", "schema": {"type": "integer"}}]
LATE = {"node": Resolution(reason=TIMEOUT_REASON, kind="clarification")}


def failure(config: dict[str, Any], questions: Any = None, **more: Any) -> tuple[str, Any]:
    found = run_node(GATE, node_call(config, {"questions": questions} if questions is not None else {}, **more))
    assert isinstance(found, Failed)
    assert not found.retryable
    return found.code, found.details


def test_the_questions_are_asked_as_they_stand() -> None:
    config = {"questions": ASKED, "contextType": "trip", "timeoutMs": 5, "remindAfterMs": [1], "key": "k"}
    data = {"questions": ASKED, "contextType": "trip"}
    assert run_node(GATE, node_call(config, scope=EvaluatingScope())) == Suspended(
        Interrupt("clarification", "k", data, None, 5, (1,))
    )


def test_a_question_is_a_template_and_never_empty() -> None:
    questions = [{"id": "a", "question": "To {{ports.to}}?"}, {"id": "b", "question": "{{ports.none}}"}]
    found = run_node(GATE, node_call({"questions": questions}, {"to": "Ada", "none": ""}, EvaluatingScope()))
    assert isinstance(found, Suspended)
    assert [each["question"] for each in found.interrupt.data["questions"]] == ["To Ada?", "b"]


def test_a_port_wins_and_is_taken_as_it_is() -> None:
    mine = [{"id": "z", "question": "{{no template}}"}]
    found = run_node(GATE, node_call({"questions": ASKED}, {"questions": mine}, iteration=1))
    assert found == Suspended(Interrupt("clarification", "node:1", {"questions": mine}))


def test_answers_come_out_by_id() -> None:
    answers = {"a": "x", "b": 1}
    resolution = Resolution({"answers": answers, "locale": "de"}, by="key_1", kind="clarification")
    found = run_node(GATE, node_call({"questions": ASKED}, scope=EvaluatingScope(), answers={"node": resolution}))
    assert found == Completed({"answers": answers})


def test_when_the_time_is_up_the_defaults_count_or_the_node_fails() -> None:
    config = {"questions": ASKED, "timeoutMs": 1}
    assert failure(config, scope=EvaluatingScope(), answers=LATE) == ("interrupt_timeout", None)
    defaults = {"a": "x", "b": 2}
    config |= {"defaultAnswers": defaults}
    assert run_node(GATE, node_call(config, scope=EvaluatingScope(), answers=LATE)) == Completed({"answers": defaults})


def test_defaults_that_do_not_answer_the_questions_of_a_port_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"timeoutMs": 1, "defaultAnswers": {"a": 1}}
    assert failure(config, ASKED, answers=LATE) == ("interrupt_timeout", None)
    given = node_call(config, {"questions": ASKED[:1]}, answers=LATE)
    assert run_node(GATE, given) == Completed({"answers": {"a": 1}})
    monkeypatch.setattr("weftwork.adapters.nodes.people.gates.check_answers", lambda *arguments: [])
    with pytest.raises(AssertionError):
        failure(config, ASKED, answers=LATE)


def test_without_questions_there_is_nothing_to_ask() -> None:
    assert failure({}) == ("node_input_missing", None)
