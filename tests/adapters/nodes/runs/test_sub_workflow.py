"""Nodes that run other workflows: once, or for each item of a list."""

import random
from typing import Any

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.adapters.nodes.fake_context import BROKEN_SOURCE, FakeScope
from tests.adapters.nodes.runs.fake_runs import ChildRunContext
from tests.harness.cases import each_case, fails_without, present
from tests.harness.definitions import for_all
from weftwork.adapters.nodes.flow import map as map_module
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
    kept_back = family()
    kept_back.call()
    kept_back.end("child", outputs=None)
    assert kept_back.call() == Completed({"childRunId": "run-child", "childStatus": "completed"})


@pytest.mark.rule("kin-14")
@each_case(
    "status, error, answer",
    (
        "failed",
        FAILED,
        Failed(
            "child_run_failed",
            "The child run run-child failed with bolts_missing.",
            {"error": {"code": "bolts_missing", "message": "There are no bolts."}},
        ),
    ),
    ("cancelled", None, Failed("child_run_cancelled", "The child run run-child was cancelled.", {}, retryable=False)),
)
def test_a_child_that_ends_badly_fails_the_node_or_is_absorbed(status: str, error: Any, answer: Failed) -> None:
    answer = replace(answer, details={"childRunId": "run-child", "childStatus": status, **(answer.details or {})})
    for config in ({}, {"onChildFailure": "fail-parent"}, {"onChildFailure": "absorb"}):
        kin = family(outputMapping={"x": "r"}, **config)
        kin.call()
        kin.end("child", status, error=error, variables={"r": 1})
        absorbed = config.get("onChildFailure") == "absorb"
        assert kin.call() == (Completed(answer.details or {}) if absorbed else answer)


@each_case("absorb", False, True)
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
    parent = present(kin.started["child"].header.parent)
    assert (parent.awaited, parent.cascade, parent.outputs, parent.variables) == (False, False, False, ())
    assert kin.call() == Completed(found.outputs)
    assert kin.made == 1


def test_a_child_that_cannot_be_started_fails_the_node() -> None:
    for absorb in ({}, {"onChildFailure": "absorb"}):
        kin = family(**absorb)
        refusal = kin.refusals["child"] = Failed("unknown_child_workflow", "There is no such workflow.", None, False)
        assert kin.call() is refusal
        assert kin.children == {}


MAP = "core.flow.map"


def map_context(items: list[Any], concurrency: int = 8, scope: FakeScope | None = None, **body: Any) -> ChildRunContext:
    config = {"body": {"workflowId": "child", **body}, "concurrency": concurrency}
    return ChildRunContext(MAP, config, {"items": items}, scope)


def test_each_child_is_given_its_item_and_no_items_need_no_children() -> None:
    nobody = map_context([])
    assert (nobody.call(), nobody.made) == (Completed({"results": [], "count": 0}), 0)
    scope = FakeScope({"e": lambda names: f"{names['item']}{names['index']}{list(names['ports'])}"})
    inputs = {"a": {"type": "static", "value": [0]}, "b": {"type": "expression", "expression": "e"}}
    wanted: list[tuple[dict[str, Any], list[Any]]] = [
        ({}, [{"item": "x"}, {"item": "y"}]),
        ({"inputs": {}}, [{}, {}]),
        ({"inputs": inputs}, [{"a": [0], "b": "x0[]"}, {"a": [0], "b": "y1[]"}]),
    ]
    for body, expected in wanted:
        kin = map_context(["x", "y"], scope=scope, **body)
        assert isinstance(kin.call(), AwaitsChildren)
        assert [child.inputs for child in kin.started.values()] == expected
        assert {child.header.workflow_id for child in kin.started.values()} == {"child"}


@each_case(
    "body, ended, result",
    ({"output": "r"}, {"variables": {"r": [7]}}, [7]),
    ({"output": "r"}, {"variables": {}}, None),
    ({}, {"outputs": {"last": {"output": 7}}}, {"last": {"output": 7}}),
)
def test_a_result_is_a_variable_of_the_child_or_its_outputs(body: Any, ended: Any, result: Any) -> None:
    kin = map_context(["x"], **body)
    kin.call()
    parent = present(kin.started["0"].header.parent)
    assert (parent.variables, parent.outputs) == ((("r",), False) if body else ((), True))
    assert (parent.cause, parent.awaited, parent.cascade) == ("core.subWorkflow", True, True)
    kin.end("0", **ended)
    assert kin.call() == Completed({"results": [result], "count": 1})


def test_the_first_by_index_of_those_that_failed_is_told() -> None:
    kin = map_context(list("abcd"))
    kin.call()
    kin.end("1")
    kin.end("3", "failed", error={"code": "third", "message": "Third."})
    kin.end("2", "failed", error={"code": "second", "message": "Second."})
    details = {"index": 2, "code": "second", "childRunId": "run-2"}
    assert kin.call() == Failed("map_item_failed", "The child run run-2 failed with second.", details)


def test_a_child_that_was_cancelled_is_not_tried_again() -> None:
    kin = map_context(["a"])
    kin.call()
    kin.end("0", "cancelled")
    details = {"index": 0, "code": "child_run_cancelled", "childRunId": "run-0"}
    assert kin.call() == Failed("map_item_failed", "The child run run-0 was cancelled.", details, retryable=False)


@each_case("body, ended", ({"output": "r"}, {"hidden": ("r",)}), ({}, {"outputs": None, "hidden": ("r",)}))
def test_a_result_that_the_child_keeps_hidden_fails_the_map(body: Any, ended: Any) -> None:
    kin = map_context(["a"], **body)
    kin.call()
    kin.end("0", **ended)
    found = kin.call()
    assert isinstance(found, Failed)
    details = {"index": 0, "code": "child_output_hidden", "childRunId": "run-0"}
    assert (found.code, found.details, found.retryable) == ("map_item_failed", details, False)


def test_an_item_without_a_child_fails_the_map() -> None:
    """An expression at fault, or a child that the host does not start: none of this call is started then."""
    kin = map_context(["a", "b", "c"])
    kin.refusals["2"] = Failed("child_limit_exceeded", "Too many runs.", retryable=False)
    found = Failed("map_item_failed", "Too many runs.", {"index": 2, "code": "child_limit_exceeded"}, retryable=False)
    assert kin.call() == found
    kin = map_context(["a"], inputs={"a": {"type": "expression", "expression": BROKEN_SOURCE}})
    details = {"index": 0, "code": "expression_failed"}
    assert kin.call() == Failed("map_item_failed", "It cannot be evaluated.", details, retryable=False)
    assert kin.made == 0


def lived(dice: random.Random) -> None:
    """A map from its start to its end: children end in any order, and it is called for nothing in between."""
    count, concurrency = dice.randint(0, 12), dice.randint(1, 6)
    fails = dice.random() < 0.3
    kin = map_context(list(range(count)), concurrency, output="r")
    for _ in range(200):
        open_before = len(kin.open)
        outcome = kin.call()
        assert kin.max_children <= concurrency
        if not isinstance(outcome, AwaitsChildren):
            break
        assert list(kin.started) == [str(index) for index in range(len(kin.started))], "out of order"
        assert len(kin.open) == min(concurrency, count - len(kin.children) + len(kin.open))
        assert len(outcome.effects) == len(kin.open) - open_before
        for key in dice.sample(kin.open, dice.randint(0, len(kin.open))):
            if fails and dice.random() < 0.2:
                kin.end(key, dice.choice(["failed", "cancelled"]), error={"code": "odd", "message": "Odd."})
            elif dice.random() < 0.2:
                kin.set_status(key, dice.choice(["waiting-input", "running", "cancelling"]))
            else:
                kin.end(key, variables={"r": kin.started[key].inputs["item"] * 10})
    else:
        raise AssertionError("it never came to an end")
    bad = [int(key) for key, child in kin.children.items() if child.has_ended and child.status != "completed"]
    if bad:
        assert isinstance(outcome, Failed)
        assert outcome.details is not None
        assert outcome.details["index"] == min(bad)
    else:
        assert outcome == Completed({"results": [index * 10 for index in range(count)], "count": count})
    assert kin.made == len(kin.started), "a child was made up and not started"


@pytest.mark.rule("kin-13")
@for_all(100, st.integers(0, 2**32), full=4_000)
def test_results_are_those_of_the_items_whatever_ends_first(seed: int) -> None:
    lived(random.Random(seed))


class Counted(dict[str, Any]):
    """Children that count how often somebody goes through all of them."""

    walks = 0

    def values(self) -> Any:
        type(self).walks += 1
        return super().values()


async def looking(call: Any, context: Any, items: Any, plain: Any = map_module.map_children) -> Any:
    assert all(child.status for child in call.children.values())
    return await plain(call, context, items)


@fails_without(map_module, "map_children", looking)
def test_a_call_looks_at_the_children_that_it_starts_only() -> None:
    count = 60
    kin = map_context(list(range(count)), 4, output="r")
    Counted.walks = 0
    kin.children = Counted()
    outcome = None
    for _ in range(count + 1):
        outcome = kin.call()
        for key in [key for key, child in kin.children.items() if not child.has_ended][:1]:
            kin.end(key, variables={"r": 1})
    assert isinstance(outcome, Completed)
    # The fake host goes through them too, once for each call.
    assert Counted.walks == count + 1


@pytest.mark.parametrize("sabotage", ["order", "room", "index"])
def test_a_map_that_loses_count_is_seen(sabotage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = map_module.map_children

    async def broken(call: Any, context: Any, items: Any) -> Any:
        if sabotage == "room":
            call = replace(call, open_children=0)
        outcome = await plain(call, context, items)
        if sabotage == "order" and isinstance(outcome, AwaitsChildren):
            return AwaitsChildren(outcome.effects[::-1])
        if sabotage == "index" and isinstance(outcome, Completed):
            return Completed({**outcome.outputs, "results": outcome.outputs["results"][::-1]})
        return outcome

    monkeypatch.setattr("weftwork.adapters.nodes.flow.map.map_children", broken)
    with pytest.raises(AssertionError):
        [lived(random.Random(seed)) for seed in range(100)]
