"""The sub-workflow node on its own: what it starts, and what it makes of how its child stands."""

from typing import Any

import pytest

from tests.adapters.nodes.fake_context import FakeScope
from tests.adapters.nodes.runs.fake_children import ChildRunContext
from weftwork.ports.node_outcome import AwaitsChildren, Completed, Failed, SetVariable

TYPE = "core.subWorkflow"
FAILED = {"code": "bolts_missing", "message": "There are no bolts.", "details": {"box": 7}}


def family(**config: Any) -> ChildRunContext:
    return ChildRunContext(TYPE, {"workflowId": "child", **config}, scope=FakeScope(variables={"x": 1, "y": None}))


@pytest.mark.rule("kin-01")
def test_one_child_is_started_with_what_is_wanted_of_it() -> None:
    kin = family(inputMapping={"a": "x", "b": "y", "c": "unset"}, outputMapping={"x": "r", "z": "r", "q": "s"})
    assert isinstance(kin.call(), AwaitsChildren)
    child = kin.started["child"].header
    assert (child.workflow_id, child.inputs) == ("child", {"a": 1, "b": None})
    assert child.parent is not None
    assert (child.parent.cause, child.parent.variables, child.parent.outputs) == (TYPE, ("r", "s"), True)
    assert (child.parent.awaited, child.parent.cascade) == (True, True)


def test_a_node_that_is_called_again_does_nothing_until_its_child_has_ended() -> None:
    kin = family()
    kin.call()
    for status in ("running", "waiting-approval", "waiting-input", "waiting-external", "cancelling", "running"):
        kin.set_status("child", status)
        assert kin.call() == AwaitsChildren()
    assert kin.made == 1


@pytest.mark.rule("kin-14")
def test_what_a_completed_child_has_goes_to_the_parent() -> None:
    kin = family(outputMapping={"x": "r", "y": "unset", "z": "r", "n": "nothing"})
    kin.call()
    kin.end("child", variables={"r": [1], "nothing": None}, outputs={"last": {"output": 2}})
    outputs = {"childRunId": "run-child", "childStatus": "completed", "outputs": {"last": {"output": 2}}}
    changes = (SetVariable("x", [1]), SetVariable("z", [1]), SetVariable("n", None))
    assert kin.call() == kin.call() == Completed(outputs, changes)


def test_outputs_that_are_kept_back_are_left_out() -> None:
    kin = family()
    kin.call()
    kin.end("child", outputs=None)
    assert kin.call() == Completed({"childRunId": "run-child", "childStatus": "completed"})


@pytest.mark.rule("kin-14")
@pytest.mark.parametrize(
    ("status", "error", "answer"),
    [
        (
            "failed",
            FAILED,
            Failed(
                "child_run_failed",
                "The child run run-child failed with bolts_missing.",
                {
                    "childRunId": "run-child",
                    "childStatus": "failed",
                    "error": {"code": "bolts_missing", "message": "There are no bolts."},
                },
            ),
        ),
        (
            "cancelled",
            None,
            Failed(
                "child_run_cancelled",
                "The child run run-child was cancelled.",
                {"childRunId": "run-child", "childStatus": "cancelled"},
                retryable=False,
            ),
        ),
    ],
)
def test_a_child_that_ends_badly_fails_the_node_or_is_absorbed(status: str, error: Any, answer: Failed) -> None:
    for config in ({}, {"onChildFailure": "fail-parent"}, {"onChildFailure": "absorb"}):
        kin = family(outputMapping={"x": "r"}, **config)
        kin.call()
        kin.end("child", status, error=error, variables={"r": 1})
        absorbed = config.get("onChildFailure") == "absorb"
        assert kin.call() == (Completed(answer.details or {}) if absorbed else answer)


@pytest.mark.parametrize("absorb", [False, True])
def test_what_is_hidden_in_the_child_is_not_taken_over(absorb: bool) -> None:
    kin = family(outputMapping={"x": "r", "y": "secret"}, **({"onChildFailure": "absorb"} if absorb else {}))
    kin.call()
    kin.end("child", variables={"r": 1}, hidden=("other", "secret"), outputs={})
    found = kin.call()
    assert isinstance(found, Failed)
    assert (found.code, found.retryable) == ("child_output_hidden", False)
    assert "secret" in found.message
    assert "other" not in found.message


def test_a_node_that_does_not_wait_completes_with_the_start() -> None:
    kin = family(waitForCompletion=False, inputMapping={"a": "x"}, propagateCancellation=False)
    found = kin.call()
    assert isinstance(found, Completed)
    assert found.outputs == {"childRunId": "run-child", "childStatus": "running"}
    parent = kin.started["child"].header.parent
    assert parent is not None
    assert (parent.awaited, parent.cascade, parent.outputs, parent.variables) == (False, False, False, ())
    assert kin.call() == Completed(found.outputs)
    assert kin.made == 1


def test_a_child_that_cannot_be_started_fails_the_node() -> None:
    for absorb in ({}, {"onChildFailure": "absorb"}):
        kin = family(**absorb)
        refusal = kin.refusals["child"] = Failed("unknown_child_workflow", "There is no such workflow.", None, False)
        assert kin.call() is refusal
        assert kin.children == {}
