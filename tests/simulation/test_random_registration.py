"""Whatever is registered is taken or refused with reasons, and what was taken runs to its end."""

import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import edge, example_count, node, variable, workflow
from tests.simulation.fold_driver import FoldedRun, choose_first
from tests.simulation.random_workflows import DECLARATIONS, random_workflow, violations_of
from weftwork.protocol.json.schema import Violation

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    2**53 - 1,
    "",
    "n0",
    "n1",
    "a/b~c",
    "é" * 300,
    "variables.a +",
    "nodes.n1.outputs.output",
    "nodes.nobody.outputs.output",
    "variables",
    "size(variables.a) > 1",
    "{{",
    "^(a+)+$",
    "core.loop",
    "core.flow.map",
    "core.nothing",
    "any_failed",
    "connection",
    "expression",
    [],
    {},
    {"type": "expression"},
    {"type": "connection", "nodeId": "n2", "outputKey": "output"},
    {"type": "regex", "left": "output", "right": "("},
    {"typeId": "core.fail", "config": {}},
    [[[[]]]],
]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a document, with each of its keys."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    return [copied(each) for each in value] if isinstance(value, list) else value


def mutated(dice: random.Random, document: dict[str, Any]) -> dict[str, Any]:
    """The document with a few places changed, taken out, doubled or swapped."""
    document = copied(document)
    for _ in range(dice.randint(1, 4)):
        found = list(places(document))
        if not found:
            break
        container, key = dice.choice(found)
        other, name = dice.choice(found)
        change = dice.choice(["odd", "odd", "gone", "copy", "more"])
        if change == "odd":
            container[key] = copied(dice.choice(ODD))
        elif change == "copy":
            container[key] = copied(other[name])
        elif change == "more":
            container.insert(key, copied(container[key])) if isinstance(container, list) else container.update(
                {str(dice.choice(ODD)): copied(dice.choice(ODD))}
            )
        else:
            del container[key]
    return document


def check_refusal(document: dict[str, Any]) -> bool:
    """Whether the definition is taken. A refusal has reasons, with their places."""
    plan, violations = violations_of(document)
    assert (plan is None) == bool(violations)
    for each in violations:
        assert isinstance(each, Violation)
        assert each.message
        assert each.rule
        assert each.pointer == "" or each.pointer.startswith("/")
    if plan is not None and all(place.node.declaration.type_id in DECLARATIONS for place in plan.nodes.values()):
        assert set(plan.order) == {each["id"] for each in document["nodes"]}
    return plan is not None


@pytest.mark.rule("wf-01")
@settings(max_examples=example_count(150), deadline=None)
@given(st.integers(0, 2**48))
def test_a_definition_is_taken_or_refused_with_reasons(seed: int) -> None:
    dice = random.Random(seed)
    document = random_workflow(dice)
    for _ in range(3):
        check_refusal(mutated(dice, document))


@pytest.mark.rule("wf-01", "run-02")
@settings(max_examples=example_count(60), deadline=None)
@given(st.integers(0, 2**48))
def test_a_changed_definition_that_is_taken_runs_to_its_end(seed: int) -> None:
    dice = random.Random(seed)
    document = mutated(dice, random_workflow(dice, 7))
    plan, _ = violations_of(document)
    if plan is not None:
        instant = all(each.node.declaration.instant for each in plan.nodes.values())
        state = FoldedRun(plan).run(choose_first).state if instant else None
        assert state is None or state.status in ("completed", "failed")


NAMES = [f"n{index:04}" for index in range(1000)]


def a_line() -> dict[str, Any]:
    return workflow([node(name) for name in NAMES], [edge(*pair) for pair in pairwise(NAMES)])


def a_fan() -> dict[str, Any]:
    inner = NAMES[1:-1]
    return workflow(
        [node(name) for name in NAMES],
        [*(edge(NAMES[0], name) for name in inner), *(edge(name, NAMES[-1]) for name in inner)],
    )


def in_layers() -> dict[str, Any]:
    pairs = {
        (NAMES[(at // 25 - 1) * 25 + (at * 7 + k * 3) % 25], NAMES[at]) for at in range(25, 1000) for k in range(5)
    }
    return workflow([node(name) for name in NAMES], [edge(*pair) for pair in sorted(pairs)])


def with_formulas() -> dict[str, Any]:
    nodes = [
        node(
            name,
            "core.transform",
            config={"expression": f"variables.v + nodes.{before}.outputs.output"},
            inputs={"x": {"type": "expression", "expression": f"variables.v * {index}.0"}},
        )
        for index, (before, name) in enumerate(pairwise(NAMES))
    ]
    first_one = node(NAMES[0], "core.identity", inputs={"output": {"type": "static", "value": 1}})
    numbers = [variable("v", "number", sensitive=True)]
    return workflow([first_one, *nodes], [edge(*pair) for pair in pairwise(NAMES)], numbers)


def in_one_loop() -> dict[str, Any]:
    never = {"type": "expression", "expression": "false"}
    back = [edge(name, NAMES[0], id=f"back-{name}", condition=never) for name in NAMES[1::2]]
    return workflow([node(name) for name in NAMES], [*(edge(*pair) for pair in pairwise(NAMES)), *back])


def in_many_loops() -> dict[str, Any]:
    never = {"type": "expression", "expression": "false"}
    back = [edge(NAMES[-1 - at], NAMES[at], id=f"back-{at}", condition=never) for at in range(64)]
    return workflow([node(name) for name in NAMES], [*(edge(*pair) for pair in pairwise(NAMES)), *back])


LARGE = [a_line, a_fan, in_layers, with_formulas, in_one_loop, in_many_loops]


@pytest.mark.rule("wf-07")
@pytest.mark.parametrize("made", LARGE, ids=lambda made: made.__name__)
def test_a_thousand_nodes_are_taken_and_run(made: Callable[[], dict[str, Any]]) -> None:
    plan, violations = violations_of(made())
    assert plan is not None, violations
    walk = FoldedRun(plan, inputs={"v": 1})
    walk.run(choose_first)
    assert (walk.state.status, walk.state.executions) == ("completed", 1000)


def test_a_definition_that_broke_the_host_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = violations_of.__globals__["plan_workflow"]

    def fragile(parsed: Any) -> Any:
        return honest(parsed) if parsed.nodes[0].ports else {}[parsed.id]

    monkeypatch.setitem(violations_of.__globals__, "plan_workflow", fragile)
    with pytest.raises(KeyError):
        check_refusal(a_line())
