"""Everything that happens in a step or a once node happens once, in graphs of every kind, wherever faults strike."""

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import weftwork
from tests.harness.definitions import edge, example_count, node, workflow
from weftwork.engine.nodes import effect_ledger
from weftwork.protocol.run.effects import UNKNOWN_OUTCOME_KIND
from weftwork.testing import Crash, Fault, LostAnswer, Outage, Unreached, crash_everywhere, find_out, run_workflow

TOUCHED: Counter[str] = Counter()


def touch(name: str) -> str:
    TOUCHED[name] += 1
    return name


@weftwork.node("acme.plain")
def plain(ctx: weftwork.PlainContext) -> str:
    return ctx.step("x", touch, f"{ctx.node_id}.x") + ctx.step("y", touch, f"{ctx.node_id}.y")


@weftwork.node("acme.async")
async def in_loop(ctx: weftwork.Context) -> str:
    return await ctx.step("x", touch, f"{ctx.node_id}.x") + await ctx.step("y", touch, f"{ctx.node_id}.y")


@weftwork.node("acme.once", effect="once")
async def once(ctx: weftwork.Context) -> str:
    return touch(ctx.node_id)


@weftwork.node("acme.once-plain", effect="once")
def once_plain(ctx: weftwork.PlainContext) -> str:
    return touch(ctx.node_id)


NODES = [plain, in_loop, once, once_plain]


def branches() -> dict[str, Any]:
    ids = {"p": "acme.plain", "a": "acme.async", "o": "acme.once", "q": "acme.once-plain"}
    edges = [each for name in ids for each in (edge("start", name), edge(name, "end"))]
    return workflow([node("start"), *(node(*each) for each in ids.items()), node("end")], edges)


def mapped(type_id: str) -> dict[str, Any]:
    config = {"body": {"typeId": type_id}, "items": [1, 2, 3], "concurrency": 2}
    return workflow([node("m", "core.flow.map", config=config)])


def looped() -> dict[str, Any]:
    nodes = [node("h", "core.loop", config={"times": 2}), node("a", "acme.async"), node("o", "acme.once")]
    edges = [edge("h", "a", sourceOutput="body"), edge("a", "o"), edge("o", "h")]
    return workflow(nodes, edges, settings={"maxLoopbackIterations": 5})


def once_each(*names: str) -> dict[str, int]:
    return dict.fromkeys(names, 1)


STEPS = [f"m[{index}].{step}" for index in range(3) for step in "xy"]
GRAPHS = {
    "branches": (branches(), once_each("p.x", "p.y", "a.x", "a.y", "o", "q")),
    "map of steps": (mapped("acme.async"), once_each(*STEPS)),
    "map of plain steps": (mapped("acme.plain"), once_each(*STEPS)),
    "map of once": (mapped("acme.once"), once_each("m[0]", "m[1]", "m[2]")),
    "loop": (looped(), {"a.x": 2, "a.y": 2, "o": 2}),
}

Strike = Callable[[int], Fault]
STRIKES: list[Strike] = [
    lambda at: Crash(at=at),
    lambda at: Crash(at=at, written=True),
    lambda at: LostAnswer(at=at),
    lambda at: Outage(at=at, times=2),
]


@pytest.mark.parametrize("name", GRAPHS)
def test_one_crash_anywhere(name: str) -> None:
    document, wanted = GRAPHS[name]
    for result in crash_everywhere(document, nodes=NODES, fresh=TOUCHED.clear):
        assert (result.status, dict(TOUCHED)) == ("completed", wanted), result.faults


@pytest.mark.parametrize("name", GRAPHS)
def test_a_host_that_repeats_without_asking_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        effect_ledger.EffectLedger, "_reported_outcome", lambda self, place, known: {"outcome": "again"}
    )
    document, wanted = GRAPHS[name]
    tried = [dict(TOUCHED) for _ in crash_everywhere(document, nodes=NODES, fresh=TOUCHED.clear)]
    assert any(touched != wanted for touched in tried)


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
def test_two_faults_anywhere(name: str) -> None:
    """Pairs in the order of a fixed stride, so that few of them already come from everywhere."""
    document, wanted = GRAPHS[name]
    places = [(first, first + more) for first, more in itertools.product(range(1, 14), range(1, 8))]
    pairs = [(*each, *strikes) for each in places for strikes in itertools.product(STRIKES, repeat=2)]
    met = 0
    for number in range(min(example_count(40, 1_600), len(pairs))):
        first, second, strike, again = pairs[number * 331 % len(pairs)]
        TOUCHED.clear()
        faults = [strike(first), again(second)]
        try:
            result = run_workflow(document, nodes=NODES, faults=faults, answers={UNKNOWN_OUTCOME_KIND: find_out})
        except Unreached:
            continue
        met += 1
        assert (result.status, dict(TOUCHED)) == ("completed", wanted), faults
    assert met > 8
