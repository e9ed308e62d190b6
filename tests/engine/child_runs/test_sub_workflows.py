"""Workflows that call workflows: what goes down, what comes back, who waits for whom, and what stays hidden."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.engine.privacy.test_sensitive_values import everything_shown
from tests.harness.cases import each_case, fails_without, present
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness
from tests.harness.run_tree import (
    ACCEPT,
    all_waiting,
    approval_workflow,
    child_keys,
    completed_snapshot,
    ended_run,
    only_child_key,
    sequence,
    snapshot_of,
    start_run,
    sub_workflow_node,
)
from weftwork.engine.host import child_start
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.header import RunKey

ADD = {"value": {"type": "expression", "expression": "variables.n + 1.0"}}


def adding(workflow_id: str = "add") -> dict[str, Any]:
    """A workflow that adds one to its variable n."""
    return sequence(
        workflow_id, node("add", "core.setVariable", config={"name": "n"}, inputs=ADD), variables=[number("n")]
    )


def number(name: str, *default: float) -> dict[str, Any]:
    return variable(name, "number", **({"defaultValue": default[0]} if default else {}))


@pytest.mark.rule("kin-01")
@each_case(
    "parent, inputs, expected",
    ([variable("p", defaultValue="default of the parent")], {}, {"c": "default of the parent", "d": "kept"}),
    ([variable("p", defaultValue="default")], {"p": "given"}, {"c": "given", "d": "kept"}),
    ([variable("p")], {}, {"c": "default of the child", "d": "kept"}),
    ([], {}, {"c": "default of the child", "d": "kept"}),
    ([], {"p": None}, {"c": None, "d": "kept"}),
)
async def test_a_child_starts_with_its_defaults_and_what_is_mapped_above_them(
    parent: list[Any], inputs: Any, expected: Any
) -> None:
    """A variable that is not set is never null in the child; one that is null stays so, where nothing forbids it."""

    declared = [variable("d", defaultValue="kept")]
    if expected["c"] is not None:
        declared.append(variable("c", defaultValue="default of the child"))
    calls = sequence("parent", sub_workflow_node("child", inputMapping={"c": "p"}), variables=parent)
    bench, key, found = await ended_run(calls, sequence("child", node("a"), variables=declared), inputs=inputs)
    assert found["status"] == "completed"
    assert (await snapshot_of(bench, await only_child_key(bench, key)))["variables"] == expected


async def test_a_variable_that_neither_has_is_absent() -> None:
    parent = sequence("parent", sub_workflow_node("child", inputMapping={"c": "p"}, outputMapping={"back": "c"}))
    bench, key, found = await ended_run(parent, sequence("child", node("a"), variables=[variable("c")]))
    assert (found["status"], found["variables"]) == ("completed", {})
    child = await snapshot_of(bench, await only_child_key(bench, key))
    assert (child["variables"], child["inputs"]) == ({}, {})


async def test_a_value_that_does_not_fit_the_child_fails_the_node() -> None:
    parent = sequence("parent", sub_workflow_node("child", inputMapping={"c": "p"}), variables=[number("p", 7)])
    bench, key, found = await ended_run(parent, sequence("child", node("a"), variables=[variable("c")]))
    assert found["error"]["code"] == "child_inputs_invalid"
    assert await child_keys(bench, key) == []


async def test_what_comes_back_has_the_type_of_the_variable() -> None:
    parent = sequence("parent", sub_workflow_node("child", outputMapping={"p": "c"}), variables=[number("p")])
    child = sequence("child", node("a"), variables=[variable("c", defaultValue="text")])
    _, _, found = await ended_run(parent, child)
    assert (found["error"]["code"], found["variables"]) == ("variable_type_mismatch", {})


@pytest.mark.rule("kin-14")
async def test_three_deep_each_gives_back_what_it_got() -> None:
    both: dict[str, Any] = {"inputMapping": {"n": "n"}, "outputMapping": {"n": "n"}}
    adds = node("add", "core.setVariable", config={"name": "n"}, inputs=ADD)
    middle = sequence("middle", sub_workflow_node("inner", **both), adds, variables=[number("n")])
    outer = sequence("outer", sub_workflow_node("middle", **both), adds, variables=[number("n")])
    root = sequence("root", sub_workflow_node("outer", **both), variables=[number("n", 5)])
    bench, key, found = await ended_run(root, outer, middle, adding("inner"))
    assert (found["status"], found["variables"]) == ("completed", {"n": 8})
    line, depth = key, 0
    while below := await child_keys(bench, line):
        (line,) = below
        depth += 1
        parent = present((await bench.stored_run(line)).header.parent)
        assert (parent.depth, parent.root, parent.node_id) == (depth, key.run_id, "call")
    assert depth == 3


async def four_runs() -> tuple[EngineHarness, list[RunKey]]:
    """Runs that were started one by the other, from the top to the one that asks."""
    bench = EngineHarness()
    middle = sequence("middle", sub_workflow_node("gate", "in"))
    outer = sequence("outer", sub_workflow_node("middle", "on"))
    line = [await start_run(bench, sequence("root", sub_workflow_node("outer")), outer, middle, approval_workflow())]
    while below := await child_keys(bench, line[-1]):
        line += below
    return bench, line


@pytest.mark.rule("kin-03")
async def test_a_question_three_below_is_seen_at_the_top_and_its_answer_frees_all() -> None:
    bench, line = await four_runs()
    assert len(line) == 4
    assert await all_waiting(bench, *line)
    assert [(await snapshot_of(bench, each))["currentNodeId"] for each in line] == ["call", "on", "in", "ask"]
    # Nothing of them is in memory while they wait.
    assert bench.executor._live == {}
    await bench.answer(line[-1], ACCEPT)
    assert (await completed_snapshot(bench, line[0]))["status"] == "completed"
    for each in line:
        assert await bench.status(each) == "completed"


@pytest.mark.rule("kin-06")
async def test_who_is_cancelled_at_the_top_takes_all_below_along() -> None:
    bench, line = await four_runs()
    await all_waiting(bench, *line)
    await bench.cancel(line[0], "enough")
    for above, each in zip([None, *line], line, strict=False):
        await bench.run_to_end(each)
        (told,) = await bench.payloads(each, "run.cancelled")
        wanted = {"reason": "parent-cancelled", "parentRunId": above.run_id} if above else {"reason": "enough"}
        assert {name: told.get(name) for name in ("reason", "parentRunId")} == {"parentRunId": None, **wanted}


async def test_each_round_of_a_loop_has_a_child_of_its_own() -> None:
    loop = node("head", "core.loop", config={"times": 4})
    call = sub_workflow_node("add", inputMapping={"n": "n"}, outputMapping={"n": "n"})
    edges = [edge("head", "call", sourceOutput="body"), edge("call", "head")]
    parent = workflow([loop, call], edges, [number("n", 0)], id="parent")
    bench, key, found = await ended_run(parent, adding())
    assert (found["status"], found["variables"]) == ("completed", {"n": 4})
    assert len({each.run_id for each in await child_keys(bench, key)}) == 4
    done = [each["outputs"] for each in await bench.payloads(key, "node.completed") if each["nodeId"] == "call"]
    assert [each["childRunId"] for each in done] == [each.run_id for each in await child_keys(bench, key)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_children_of_branches_work_side_by_side(order: tuple[int, int]) -> None:
    """Whoever is answered first: the variable that both write takes the value of the one later in the graph."""

    bench = EngineHarness()
    gates = [approval_workflow(each, variables=[variable("v", defaultValue=each)]) for each in ("left", "right")]
    nodes = [sub_workflow_node(each, each, outputMapping={"v": "v", each: "v"}) for each in ("left", "right")]
    key = await start_run(bench, workflow(nodes, id="parent"), *gates)
    found = await child_keys(bench, key)
    assert await all_waiting(bench, key, *found)
    await bench.answer(found[order[0]], ACCEPT)
    assert await all_waiting(bench, key)
    assert (await snapshot_of(bench, key))["currentNodeId"] == ("left", "right")[order[1]]
    await bench.answer(found[order[1]], ACCEPT)
    done = await completed_snapshot(bench, key)
    assert done["variables"] == {"v": "right", "left": "left", "right": "right"}


async def test_a_parent_that_changes_its_variable_later_does_not_reach_its_child() -> None:
    bench = EngineHarness()
    later = node("set", "core.setVariable", config={"name": "p", "value": "changed"})
    nodes = [sub_workflow_node("gate", inputMapping={"c": "p"}), node("hold", "test.gate"), later]
    parent = workflow(nodes, [edge("hold", "set")], [variable("p", defaultValue="seeded")], id="parent")
    key = await start_run(bench, parent, approval_workflow(variables=[variable("c", defaultValue="own")]))
    child = await only_child_key(bench, key)
    await bench.release("hold")
    assert (await snapshot_of(bench, key))["variables"] == {"p": "changed"}
    await bench.answer(child, ACCEPT)
    assert (await completed_snapshot(bench, key))["status"] == "completed"
    assert (await snapshot_of(bench, child))["variables"] == {"c": "seeded"}


async def test_an_unknown_workflow_fails_the_parent() -> None:
    bench, key, found = await ended_run(sequence("parent", sub_workflow_node("nowhere", onChildFailure="absorb")))
    error = found["error"]
    assert (error["code"], error["message"]) == ("unknown_child_workflow", "There is no workflow nowhere.")
    assert await child_keys(bench, key) == []


def counted_as_first(*given: Any, honest: Any = child_start._parent_of_child) -> Any:
    return replace(honest(*given), depth=1)


@pytest.mark.rule("lim-15")
@fails_without(child_start, "_parent_of_child", counted_as_first, match="child_limit_exceeded")
async def test_a_workflow_that_calls_itself_ends_at_the_bound() -> None:
    """Without the count of levels it goes on to the bound of the whole tree."""
    bench = EngineHarness(limits=Limits(max_run_depth=5, max_descendants=30))
    _, key, _ = await ended_run(sequence("self", sub_workflow_node("self")), bench=bench)
    line = [key]
    while below := await child_keys(bench, line[-1]):
        line += below
    errors = [(await snapshot_of(bench, each))["error"]["code"] for each in line]
    assert errors[-1] == "child_depth_exceeded"
    assert errors[:-1] == ["child_run_failed"] * 5


SECRET = "canary-7311"
GIVEN: dict[str, Any] = {"inputs": {"secret": SECRET, "open": "in the open"}}
DECLARED = [variable("secret", sensitive=True), variable("open")]
READ = {"s": {"type": "variable", "variableName": "s"}}
TELLS = sequence(
    "child",
    node("a", "core.identity", inputs=READ),
    variables=[variable("s", sensitive=True, defaultValue="canary-7311")],
)
"""Has a secret of its own and gives it out."""


def parent(**config: Any) -> dict[str, Any]:
    return sequence("parent", sub_workflow_node("child", **config), variables=DECLARED)


def child(*names: str, hidden: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    declared = [variable(name, sensitive=name in hidden) for name in names]
    return sequence("child", node("a"), variables=declared, **more)


async def all_shown(bench: EngineHarness, key: RunKey) -> str:
    return "".join([await everything_shown(bench, each) for each in (key, *await child_keys(bench, key))])


@pytest.mark.rule("hide-03")
async def test_a_secret_goes_down_into_a_variable_that_hides_it() -> None:
    keeps = sequence("child", node("a", "core.identity", inputs=READ), variables=[variable("s", sensitive=True)])
    bench, key, found = await ended_run(parent(inputMapping={"s": "secret"}), keeps, **GIVEN)
    assert found["status"] == "completed"
    assert SECRET not in await all_shown(bench, key)
    # The child has the value itself, and not its mask.
    assert (await bench.state(await only_child_key(bench, key))).nodes["a"].outputs == {"s": SECRET}


async def test_a_variable_of_the_child_that_would_show_a_secret_gets_none() -> None:
    bench, key, found = await ended_run(parent(inputMapping={"s": "secret"}), child("s"), **GIVEN)
    assert found["error"]["code"] == "child_input_hidden"
    assert await child_keys(bench, key) == []
    assert SECRET not in await all_shown(bench, key)
    # What is in the open may go down beside a secret.
    both = {"s": "secret", "o": "open"}
    bench, key, found = await ended_run(parent(inputMapping=both), child("s", "o", hidden=("s",)), **GIVEN)
    assert (found["status"], found.get("error")) == ("completed", None)
    assert SECRET not in await all_shown(bench, key)


@pytest.mark.parametrize("sensitive", [False, True])
async def test_a_secret_of_the_child_does_not_come_up(sensitive: bool) -> None:
    """Not even into a variable that would hide it."""

    wants = [variable("v", sensitive=sensitive)]
    calls = sequence("parent", sub_workflow_node("child", outputMapping={"v": "s"}), variables=wants)
    bench, key, found = await ended_run(calls, TELLS)
    assert found["error"]["code"] == "child_output_hidden"
    assert SECRET not in await all_shown(bench, key)


async def test_outputs_that_hold_a_secret_come_up_without_it() -> None:
    bench, key, found = await ended_run(sequence("parent", sub_workflow_node("child")), TELLS)
    assert found["status"] == "completed"
    assert SECRET not in await all_shown(bench, key)
    assert SECRET not in str((await bench.state(key)).nodes["call"].outputs)


@pytest.mark.parametrize("output", ["s", None])
async def test_a_map_does_not_get_a_secret_of_its_children(output: str | None) -> None:
    body: dict[str, Any] = {"workflowId": "child", "inputs": {}, **({"output": output} if output else {})}
    maps = sequence("parent", node("m", "core.flow.map", config={"items": [1, 2], "body": body}))
    bench, key, found = await ended_run(maps, TELLS)
    if output:
        assert found["error"]["details"]["code"] == "child_output_hidden"
    assert SECRET not in await all_shown(bench, key)
    assert SECRET not in str((await bench.state(key)).nodes["m"].outputs)


async def test_items_that_hold_a_secret_go_to_children_that_hide_them() -> None:
    for hidden in (True, False):
        body = {"workflowId": "child", "inputs": {"s": {"type": "expression", "expression": "variables.secret"}}}
        mapping = node("m", "core.flow.map", config={"items": [1], "body": body})
        document = sequence("parent", mapping, variables=DECLARED)
        bench, key, found = await ended_run(document, child("s", hidden=("s",) if hidden else ()), **GIVEN)
        assert SECRET not in await all_shown(bench, key)
        if hidden:
            assert found["status"] == "completed"
        else:
            # Whatever such a node says of its failure beyond the code is hidden, too.
            assert found["error"]["code"] == "map_item_failed"
            assert await child_keys(bench, key) == []
