"""`weftwork.testing.replay`: histories of real runs, and code that changed since."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weftwork
from tests.harness.cases import fails_without
from tests.harness.definitions import edge, node, variable, workflow
from tests.testing.recorded_runs import record_run
from weftwork.engine.replay.lockstep import Lockstep
from weftwork.engine.replay.node_rerun import NodeRerun
from weftwork.protocol.replay.history import read_history
from weftwork.testing import Diverged, Refused, areplay, replay, run_workflow
from weftwork.testing.history import replay as module

Function = Callable[..., Any]
ACCEPT = {"price": {"action": "accept"}}
NET = {"net": {"type": "variable", "variableName": "net"}}
PRICE = workflow([node("price", "acme.price", inputs=NET)], [], [variable("net", "number", required=True)])


def price_node(
    rate: float = 1.19, step: str = "look-up", asks: bool = True, version: tuple[int, int] | None = None
) -> Function:
    """A node with a step and a question. With `version`, changed code that keeps the old behaviour for old runs."""

    @weftwork.node("acme.price")
    async def price(ctx: weftwork.Context, net: float) -> dict[str, Any]:
        name, used = step, rate
        if version is not None and await ctx.get_version("rates", *version) == -1:
            name, used = "look-up", 1.19
        await ctx.step(name, lambda: "found")
        ctx.log.info("looked up")
        if asks:
            await ctx.approve("release", title="Release?")
        return {"gross": net * used}

    return price


@pytest.fixture
async def ended(tmp_path: Path) -> Path:
    """A run that has ended."""
    return await record_run(tmp_path / "ended.json", PRICE, [price_node()], {"net": 100}, ACCEPT)


@pytest.fixture
async def waiting(tmp_path: Path) -> Path:
    """A run that waits for its approval."""
    return await record_run(tmp_path / "waiting.json", PRICE, [price_node()], {"net": 100})


async def test_unchanged_code_is_called_and_does_the_same(ended: Path, waiting: Path) -> None:
    result = await areplay(ended, nodes=[price_node()])
    assert (result.status, result.called, result.taken_over) == ("completed", ("price",), ())
    assert result.checked_until == result.events - 1
    assert (await areplay(waiting, nodes=[price_node()])).status == "waiting-approval"


def test_there_is_a_form_for_tests_without_a_loop(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    asyncio.run(record_run(file, PRICE, [price_node(asks=False)], {"net": 1}))
    assert replay(file, nodes=[price_node(asks=False)]).called == ("price",)
    with pytest.raises(Diverged, match=r"/outputs/gross: 1.19, now 2.0"):
        replay(file, nodes=[price_node(2.0, asks=False)])


async def diverges(file: Path, *nodes: Function, **more: Any) -> Diverged:
    with pytest.raises(Diverged) as raised:
        await areplay(file, nodes=nodes, **more)
    return raised.value


def take_over(lockstep: Lockstep, node_id: str, count: int, rerun: NodeRerun) -> None:
    """Replaces the comparison of what a node has produced."""
    for _ in range(count):
        lockstep._take()


@fails_without(Lockstep, "_compare_outcome", take_over)
async def test_other_outputs_are_named(ended: Path) -> None:
    difference = await diverges(ended, price_node(1.21))
    assert (difference.node_id, difference.recorded) == ("price", 'node price completes with {"gross":119.0}')
    assert difference.now == 'node price completes with {"gross":121.0}'
    recorded = read_history(ended.read_bytes()).events[difference.sequence]
    assert (recorded.type, recorded.node_id) == ("node.completed", "price")
    lines = str(difference).splitlines()
    assert lines[0] == "ended.json: the code does not do what was recorded."
    assert lines[1] == f"First difference: event {difference.sequence}, node price"
    assert lines[4] == "  differs:  /outputs/gross: 119.0, now 121.0"


async def test_a_renamed_step_would_be_done_again(waiting: Path) -> None:
    difference = await diverges(waiting, price_node(step="search"))
    assert difference.now.endswith("it needs the result of the step 'search', which the recorded run does not have")


async def test_a_question_that_is_no_longer_asked_is_named(waiting: Path) -> None:
    difference = await diverges(waiting, price_node(asks=False))
    assert difference.recorded.startswith("node price asks price:0:release")
    assert difference.now.startswith("node price completes")


async def test_an_exception_is_shown(ended: Path) -> None:
    @weftwork.node("acme.price")
    async def price(ctx: weftwork.Context, net: float) -> dict[str, Any]:
        raise ValueError("no such net")

    assert (await diverges(ended, price)).now.endswith("ValueError: no such net")


async def test_a_version_keeps_old_runs_as_they_were(ended: Path, waiting: Path) -> None:
    changed = price_node(1.21, "search", version=(-1, 1))
    for file in (ended, waiting):
        await areplay(file, nodes=[changed])
    difference = await diverges(waiting, price_node(1.21, "search", version=(1, 2)))
    assert "a version from ctx.get_version" in difference.now


async def test_a_recorded_version_is_used(tmp_path: Path) -> None:
    changed = price_node(1.21, "search", version=(-1, 1))
    file = await record_run(tmp_path / "new.json", PRICE, [changed], {"net": 100}, ACCEPT)
    assert b'"gross":121' in file.read_bytes()
    await areplay(file, nodes=[changed])
    await diverges(file, price_node())


async def test_a_changed_definition_is_compared(ended: Path) -> None:
    more = workflow([*PRICE["nodes"], node("first")], [edge("first", "price")], PRICE["variables"])
    difference = await diverges(ended, price_node(), workflow=more)
    assert (difference.recorded, difference.now) == ("node price starts", "node first starts")
    renamed = workflow([node("cost", "acme.price", inputs=NET)], [], PRICE["variables"])
    assert (await diverges(ended, price_node(), workflow=renamed)).now == "node cost starts"
    described = {**PRICE, "description": "Another text changes nothing."}
    await areplay(ended, nodes=[price_node()], workflow=described)


async def test_a_node_with_effects_is_not_called(tmp_path: Path) -> None:
    calls: list[float] = []

    @weftwork.node("acme.price", effect="once")
    def price(ctx: weftwork.Context, net: float) -> float:
        calls.append(net)
        return net

    file = await record_run(tmp_path / "once.json", PRICE, [price], {"net": 100})
    result = await areplay(file, nodes=[price])
    assert (result.called, result.taken_over, calls) == ((), ("price",), [100])


SECRET = workflow(
    [
        node("read", "acme.length", inputs={"text": {"type": "variable", "variableName": "token"}}),
        node("open", "acme.length", inputs={"text": {"type": "variable", "variableName": "name"}}),
    ],
    [],
    [variable("token", "string", required=True, sensitive=True), variable("name", "string", required=True)],
)


def length_node(more: int = 0) -> Function:
    @weftwork.node("acme.length")
    def length(ctx: weftwork.Context, text: str) -> int:
        return len(text) + more

    return length


@pytest.mark.rule("hist-02")
@fails_without(module, "take_over_outcomes", lambda plan, nodes: plan)
async def test_a_node_that_reads_a_masked_value_is_not_called(tmp_path: Path) -> None:
    inputs = {"token": "a secret token", "name": "abc"}
    file = await record_run(tmp_path / "secret.json", SECRET, [length_node()], inputs)
    assert b"a secret token" not in file.read_bytes()
    assert json.loads(file.read_bytes())["masked"]["inputs"] == ["token"]
    result = await areplay(file, nodes=[length_node()])
    assert (result.called, result.taken_over) == (("open",), ("read",))
    assert (await diverges(file, length_node(1))).node_id == "open"


@pytest.mark.rule("hist-02")
async def test_a_credential_in_an_input_masks_its_readers(tmp_path: Path) -> None:
    variables = [variable("token", "string", required=True), variable("name", "string", required=True)]
    document = {**SECRET, "variables": variables}
    inputs = {"token": f"ghp_{'a1B2' * 9}", "name": "abc"}
    file = await record_run(tmp_path / "credential.json", document, [length_node()], inputs)
    assert b"a1B2a1B2" not in file.read_bytes()
    assert (await areplay(file, nodes=[length_node()])).taken_over == ("read",)


@pytest.mark.rule("hist-01")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document: document.update(historyVersion=2), "not a history of version 1. /historyVersion"),
        (lambda document: document.update(events=[]), "has no events. /events"),
        (lambda document: document["events"].pop(0), "not the whole log"),
        (lambda document: document["events"][1].update(runId="other"), "not the whole log"),
        (lambda document: document["events"][1].update(timestamp="today"), "not a time in UTC"),
        (lambda document: document["run"].pop("owner"), "missing required field `owner`"),
    ],
)
async def test_a_file_that_is_no_history_is_refused(ended: Path, change: Any, message: str) -> None:
    document = json.loads(ended.read_bytes())
    change(document)
    ended.write_text(json.dumps(document))
    with pytest.raises(Refused, match=message):
        await areplay(ended, nodes=[price_node()])


async def test_a_missing_node_is_named(ended: Path) -> None:
    with pytest.raises(Refused, match=r"ended.json: the workflow cannot be replayed with these nodes:\n.*typeId"):
        await areplay(ended)


def test_the_kit_runs_what_it_can_replay() -> None:
    result = run_workflow(PRICE, nodes=[price_node(asks=False, version=(-1, 1))], inputs={"net": 100})
    assert result.outputs == {"price": {"gross": 119.0}}
    assert [each.payload["version"] for each in result.events if each.type == "version.pinned"] == [1]
