"""Models in the kit: answers that the test gives, and questions that it sees."""

from typing import Any

import pytest

from tests.harness.definitions import edge, node, workflow
from weftwork.testing import Crash, FakeModel, Refused, UnexpectedRequest, crash_everywhere, run_workflow

FLOW = workflow(
    [
        node("first", "core.ai.callPrompt", config={"prompt": "One?", "provider": "acme", "maxTokens": 9}),
        node("second", "core.ai.callPrompt", config={"prompt": "Two?"}),
    ],
    [edge("first", "second")],
)


def texts(model: Any = None, **more: Any) -> list[Any]:
    result = run_workflow(FLOW, model=model, **more)
    assert result.status == "completed", result.error
    return [result.nodes[name].outputs["text"] for name in ("first", "second")]


@pytest.mark.parametrize(
    "answers",
    [
        ["a", "b"],
        {"second": ["b"], "first": [{"content": "a"}]},
        lambda request: "a" if request.node_id == "first" else {"chunks": ["b"]},
    ],
)
def test_answers_are_a_list_a_table_or_a_function(answers: Any) -> None:
    assert texts(answers) == ["a", "b"]
    model = FakeModel(iter(["a", "b"]))
    assert texts(model) == ["a", "b"]
    asked = [(request.node_id, request.provider, request.max_tokens) for request in model.requests]
    assert asked == [("first", "acme", 9), ("second", "", None)]
    assert [request.messages[0].content for request in model.requests] == ["One?", "Two?"]


def test_without_answers_the_model_says_what_it_was_told() -> None:
    assert [text.partition("said: ")[2] for text in texts()] == ["One?", "Two?"]


@pytest.mark.parametrize("answers", [["a"], {"first": ["a"]}, []])
def test_a_question_without_an_answer_fails_the_test(answers: Any) -> None:
    with pytest.raises(UnexpectedRequest, match=r"node (first|second)"):
        run_workflow(FLOW, model=answers)


def test_a_fault_is_one_of_the_node() -> None:
    fault = {"fault": {"code": "provider_quota_exhausted", "message": "No more.", "retryable": False}}
    result = run_workflow(FLOW, model=[fault])
    assert result.error is not None
    assert (result.status, result.error.code) == ("failed", "provider_quota_exhausted")


def test_an_answer_that_is_none_is_refused() -> None:
    with pytest.raises(Refused, match="no model can answer this"):
        run_workflow(FLOW, model=[{"contnet": "a"}])


def test_a_recorded_answer_is_not_asked_for_again() -> None:
    made: list[FakeModel] = []

    def fresh() -> FakeModel:
        made.append(FakeModel(lambda request: f"answer {len(made[-1].requests)}"))
        return made[-1]

    crashes = 0
    for result in crash_everywhere(FLOW, model=fresh):
        assert result.status == "completed"
        said = [int(result.nodes[name].outputs["text"].split()[1]) for name in ("first", "second")]
        # One of the two may have been lost on its way to the record.
        assert len(made[-1].requests) - 2 in (0, 1)
        assert said == sorted(said)
        crashes += 1
    assert crashes > 6


def test_one_that_crashes_before_the_record_asks_again() -> None:
    model = FakeModel(["lost", "a", "b"])
    fault = Crash(event="weftwork.model.answered")
    assert texts(model, faults=[fault]) == ["a", "b"]
    assert len(model.requests) == 3
