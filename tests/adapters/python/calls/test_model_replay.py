"""Answers of models in nodes that are entered again: each call gets its own, in whatever order they came."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import weftwork
from tests.adapters.python.single_node_workflows import single_node_workflow
from weftwork.adapters.python.node_tasks import TaskPath
from weftwork.testing import Crash, FakeModel, crash_everywhere, run_node

FLOW: dict[str, Any] = {
    "id": "calls",
    "name": "Calls",
    "version": "1",
    "nodes": [
        {"id": "n", "typeId": "acme.calls", "name": "n", "position": {"x": 0, "y": 0}, "config": {}, "inputs": {}}
    ],
    "edges": [],
    "triggers": [],
    "variables": [],
    "metadata": {},
    "settings": {},
}
ASKS = {"go": "on"}


def reply(request: Any) -> Any:
    """Says what it was asked; who is asked first answers last."""
    asked = request.messages[-1].content
    wait = 1000 - 100 * int(asked[0]) if asked[0].isdigit() else 0
    return {"chunks": [f"re {asked}"], "delayMsPerToken": wait}


@weftwork.node("acme.calls")
async def one_by_one(ctx: weftwork.Context) -> Any:
    first = (await ctx.call_ai("1")).text
    second = (await ctx.call_ai(f"2 {first}")).text
    await ctx.interrupt("go")
    return [first, second, (await ctx.call_ai(f"3 {second}")).text]


@weftwork.node("acme.calls")
def plain(ctx: weftwork.PlainContext) -> Any:
    first = ctx.call_ai("1").text
    second = ctx.call_ai(f"2 {first}").text
    ctx.interrupt("go")
    return [first, second, ctx.call_ai(f"3 {second}").text]


CHAIN = ["re 1", "re 2 re 1", "re 3 re 2 re 1"]


@weftwork.node("acme.calls")
async def at_once(ctx: weftwork.Context) -> Any:
    answers = await asyncio.gather(*(ctx.call_ai(str(number)) for number in range(4)))
    await ctx.interrupt("go")
    return [answer.text for answer in answers]


@weftwork.node("acme.calls")
async def chains(ctx: weftwork.Context) -> Any:
    async def chain(name: str) -> list[str]:
        first = (await ctx.call_ai(name)).text
        return [first, (await ctx.call_ai(f"{9 - int(name)} after {first}")).text]

    found = await asyncio.gather(*(chain(str(number)) for number in range(3)))
    await ctx.interrupt("go")
    return [text for each in found for text in each]


@weftwork.node("acme.calls")
async def grouped(ctx: weftwork.Context) -> Any:
    async def chain(name: str) -> list[str]:
        first = (await ctx.call_ai(name)).text
        await ctx.step(f"note {name}", str, name)
        return [first, (await ctx.call_ai(f"{9 - int(name)} after {first}")).text]

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(chain(str(number))) for number in range(3)]
    await ctx.interrupt("go")
    return [text for task in tasks for text in task.result()]


CHAINS = [text for number in range(3) for text in (f"re {number}", f"re {9 - number} after re {number}")]

NODES = [
    (one_by_one, CHAIN),
    (plain, CHAIN),
    (at_once, [f"re {number}" for number in range(4)]),
    (chains, CHAINS),
    (grouped, CHAINS),
]


@pytest.mark.rule("model-01")
@pytest.mark.parametrize(("function", "expected"), NODES, ids=["one by one", "plain", "at once", "chains", "grouped"])
def test_a_crash_anywhere_leaves_each_call_its_answer(function: Any, expected: list[str]) -> None:
    models: list[FakeModel] = []

    def fresh() -> FakeModel:
        models.append(FakeModel(reply))
        return models[-1]

    runs = 0
    for result in crash_everywhere(FLOW, nodes=[function], answers=ASKS, model=fresh):
        runs += 1
        assert result.error is None, result.error
        assert result.outputs["n"]["output"] == expected
        assert result.kinds.count("weftwork.model.answered") == len(expected)
        assert result.kinds.count("provider.usage") == len(expected)
        if not result.faults:
            assert len(models[-1].requests) == len(expected)
    assert runs > 10


def test_numbers_alone_would_mix_chains_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TaskPath, "child", lambda self, _: self)
    with pytest.raises(AssertionError):
        test_a_crash_anywhere_leaves_each_call_its_answer(chains, CHAINS)


def test_items_of_a_map_have_answers_of_their_own() -> None:
    @weftwork.node("acme.item")
    async def item(ctx: weftwork.Context, name: str) -> str:
        first = (await ctx.call_ai(name)).text
        try:
            await ctx.call_ai("bad", schema={"type": "object"})
        except weftwork.NodeError as error:
            first += f" {error.code}"
        return f"{first} {(await ctx.call_ai(f'again {name}')).text}"

    def answer(request: Any) -> Any:
        return reply(request) if request.response_schema is None else "[]"

    inputs = {"name": {"type": "expression", "expression": "item"}}
    map_of = single_node_workflow(
        "map", "core.flow.map", {"items": ["5", "6"]}, {"body": {"typeId": "acme.item", "inputs": inputs}}
    )
    expected = [f"re {name} envelope_invalid re again {name}" for name in "56"]
    for result in crash_everywhere(map_of, nodes=[item], model=lambda: FakeModel(answer)):
        assert result.error is None, result.error
        assert result.outputs["n"]["results"] == expected
        assert "envelope.retry.exhausted" in result.kinds


def test_a_prompt_that_changes_still_gets_its_answer() -> None:
    seen: list[str] = []

    @weftwork.node("acme.calls")
    async def changing(ctx: weftwork.Context) -> str:
        seen.append("x")
        return (await ctx.call_ai(f"Entry {len(seen)}")).text

    model = FakeModel(reply)
    result = run_node(changing, model=model, faults=[Crash(event="node.completed")])
    assert (result.outputs, len(seen), len(model.requests)) == ({"output": "re Entry 1"}, 2, 1)


def test_threads_of_the_author_can_ask_too() -> None:
    @weftwork.node("acme.calls")
    def threaded(ctx: weftwork.PlainContext) -> list[str]:
        with ThreadPoolExecutor(1) as pool:
            theirs = pool.submit(lambda: ctx.call_ai("5").text).result(timeout=10)
        return [theirs, ctx.call_ai("6").text]

    result = run_node(threaded, model=FakeModel(reply), faults=[Crash(event="node.completed")])
    assert result.outputs == {"output": ["re 5", "re 6"]}
    assert [event.type for event in result.events].count("weftwork.model.answered") == 2


def test_a_branch_is_known_by_name_and_number() -> None:
    def walk(noise: bool) -> list[str]:
        root = TaskPath()
        found = [root.next_turn_prefix()]
        if noise:
            root.child("a library")
        child = root.child("chain")
        return [
            *found,
            root.next_turn_prefix(),
            child.next_turn_prefix(),
            child.next_turn_prefix(),
            root.child("chain").next_turn_prefix(),
        ]

    assert walk(False) == walk(True)
    assert len(set(walk(False))) == 5
    assert walk(False)[:2] == ["0.", "1."]


def test_a_call_that_is_made_again_has_the_same_key() -> None:
    """For providers that know by it that they have answered already."""
    model = FakeModel(reply)
    crash = Crash(event="weftwork.model.answered", nth=2)
    assert run_node(one_by_one, model=model, answers=ASKS, faults=[crash]).error is None
    keys = [request.key for request in model.requests]
    assert len(keys) == 4
    assert keys[1] == keys[2]
    assert len({*keys}) == 3
    assert all(keys)
