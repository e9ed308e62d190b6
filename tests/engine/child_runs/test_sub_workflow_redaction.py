"""Secrets and child runs: what a parent hides its child hides, and what a child hides its parent does not get."""

from typing import Any

import pytest

from tests.engine.privacy.test_sensitive_values import everything_shown
from tests.harness.definitions import node, variable
from tests.harness.engine_harness import EngineHarness
from tests.harness.run_tree import (
    child_keys,
    completed_snapshot,
    only_child_key,
    sequence,
    start_run,
    sub_workflow_node,
)
from weftwork.protocol.run.header import RunKey

SECRET = "canary-7311"
GIVEN: dict[str, Any] = {"inputs": {"secret": SECRET, "open": "in the open"}}
DECLARED = [variable("secret", sensitive=True), variable("open")]


def parent(**config: Any) -> dict[str, Any]:
    return sequence("parent", sub_workflow_node("child", **config), variables=DECLARED)


def child(*names: str, hidden: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    declared = [variable(name, sensitive=name in hidden) for name in names]
    return sequence("child", node("a"), variables=declared, **more)


async def all_shown(bench: EngineHarness, key: RunKey) -> str:
    return "".join([await everything_shown(bench, each) for each in (key, *await child_keys(bench, key))])


@pytest.mark.rule("hide-03")
async def test_a_secret_goes_down_into_a_variable_that_hides_it() -> None:
    bench = EngineHarness()
    keeps = sequence("child", node("a", "core.identity", inputs=READ), variables=[variable("s", sensitive=True)])
    key = await start_run(bench, parent(inputMapping={"s": "secret"}), keeps, **GIVEN)
    assert (await completed_snapshot(bench, key))["status"] == "completed"
    assert SECRET not in await all_shown(bench, key)
    # The child has the value itself, and not its mask.
    state = await bench.state(await only_child_key(bench, key))
    assert state.nodes["a"].outputs == {"s": SECRET}


READ = {"s": {"type": "variable", "variableName": "s"}}


async def test_a_variable_of_the_child_that_would_show_a_secret_gets_none() -> None:
    bench = EngineHarness()
    key = await start_run(bench, parent(inputMapping={"s": "secret"}), child("s"), **GIVEN)
    assert (await completed_snapshot(bench, key))["error"]["code"] == "child_input_hidden"
    assert await child_keys(bench, key) == []
    assert SECRET not in await all_shown(bench, key)


async def test_what_is_in_the_open_may_go_down_beside_a_secret() -> None:
    bench = EngineHarness()
    mapping = {"s": "secret", "o": "open"}
    key = await start_run(bench, parent(inputMapping=mapping), child("s", "o", hidden=("s",)), **GIVEN)
    found = await completed_snapshot(bench, key)
    assert (found["status"], found.get("error")) == ("completed", None)
    assert SECRET not in await all_shown(bench, key)


@pytest.mark.parametrize("sensitive", [False, True])
async def test_a_secret_of_the_child_does_not_come_up(sensitive: bool) -> None:
    """Not even into a variable that would hide it."""

    bench = EngineHarness()
    has = sequence("child", node("a"), variables=[variable("s", sensitive=True, defaultValue=SECRET)])
    wants = [variable("v", sensitive=sensitive)]
    key = await start_run(
        bench, sequence("parent", sub_workflow_node("child", outputMapping={"v": "s"}), variables=wants), has
    )
    error = (await completed_snapshot(bench, key))["error"]
    assert error["code"] == "child_output_hidden"
    assert SECRET not in await all_shown(bench, key)


async def test_outputs_that_hold_a_secret_come_up_without_it() -> None:
    bench = EngineHarness()
    declared = [variable("s", sensitive=True, defaultValue=SECRET)]
    tells = sequence("child", node("a", "core.identity", inputs=READ), variables=declared)
    key = await start_run(bench, sequence("parent", sub_workflow_node("child")), tells)
    assert (await completed_snapshot(bench, key))["status"] == "completed"
    assert SECRET not in await all_shown(bench, key)
    assert SECRET not in str((await bench.state(key)).nodes["call"].outputs)


@pytest.mark.parametrize("output", ["s", None])
async def test_a_map_does_not_get_a_secret_of_its_children(output: str | None) -> None:
    bench = EngineHarness()
    declared = [variable("s", sensitive=True, defaultValue=SECRET)]
    tells = sequence("child", node("a", "core.identity", inputs=READ), variables=declared)
    body: dict[str, Any] = {"workflowId": "child", "inputs": {}, **({"output": output} if output else {})}
    key = await start_run(
        bench, sequence("parent", node("m", "core.flow.map", config={"items": [1, 2], "body": body})), tells
    )
    found = await completed_snapshot(bench, key)
    if output:
        assert found["error"]["details"]["code"] == "child_output_hidden"
    assert SECRET not in await all_shown(bench, key)
    assert SECRET not in str((await bench.state(key)).nodes["m"].outputs)


async def test_items_that_hold_a_secret_go_to_children_that_hide_them() -> None:
    for hidden in (True, False):
        bench = EngineHarness()
        body = {"workflowId": "child", "inputs": {"s": {"type": "expression", "expression": "variables.secret"}}}
        mapping = node("m", "core.flow.map", config={"items": [1], "body": body})
        document = sequence("parent", mapping, variables=DECLARED)
        key = await start_run(bench, document, child("s", hidden=("s",) if hidden else ()), **GIVEN)
        found = await completed_snapshot(bench, key)
        assert SECRET not in await all_shown(bench, key)
        if hidden:
            assert found["status"] == "completed"
        else:
            # Whatever such a node says of its failure beyond the code is hidden, too.
            assert found["error"]["code"] == "map_item_failed"
            assert await child_keys(bench, key) == []
