"""The size of the live state, as the fold counts it: against the values that the state really holds."""

from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.definitions import edge, for_all, header_of, node, plan_of, variable, workflow
from weftwork.protocol.fold import live_size, variable_views
from weftwork.protocol.fold.fold import FOLDED_TYPES, apply
from weftwork.protocol.fold.live_size import HELD_TYPES
from weftwork.protocol.fold.state import NodeState, RunState
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.run.events import Fact
from weftwork.protocol.run.map_items import ItemError

NAMES = ("a", "b", "c")
PLAN = plan_of(
    workflow([node(name) for name in NAMES], [edge("a", "b"), edge("b", "c")], [variable("v"), variable("w")])
)
OVERHEAD = 200
"""More than what an event has besides the value that the state keeps."""


def size_of(value: Any) -> int:
    return len(encode_stored(value)) if value else 0


def held_by_node(each: NodeState) -> int:
    items = [item.error if isinstance(item, ItemError) else item for item in each.map_items.values()]
    effects = [[effect.output, effect.error] for effect in each.effects.values()]
    children = [[child.outputs, child.variables, child.error] for child in each.children.values()]
    values = [
        each.outputs,
        each.previous_outputs,
        each.error,
        *items,
        *effects,
        *children,
        *each.model_answers.values(),
    ]
    return sum(map(size_of, values))


def measured(state: RunState) -> int:
    """The encoded size of every value that the state holds, without what it shares with the plan."""
    total = size_of(state.inputs) + sum(map(held_by_node, state.nodes.values()))
    tables = {id(each.view._writes): each.view._writes for each in state.nodes.values()}
    writes = [write for table in tables.values() for named in table.by_name.values() for write in named]
    total += sum(size_of(value) for _, _, value, _ in writes)
    total += sum(size_of(channel.value) for channel in state.channels.values())
    total += sum(size_of(each.data) for each in state.interrupts.values())
    return total + sum(size_of(each.value) for each in state.resolutions.values())


TEXTS = st.sampled_from(["", "x" * 10, "y" * 400, "z" * 3000])
STEPS = st.tuples(
    st.sampled_from(
        ["complete", "retry", "variable", "append", "replace", "item", "answer", "effect", "child", "fail"]
    ),
    st.sampled_from(NAMES),
    st.integers(0, 3),
    TEXTS,
)


def payloads_of(kind: str, node_id: str, number: int, text: str) -> list[tuple[str, dict[str, Any]]]:
    match kind:
        case "complete":
            return [("node.completed", {"nodeId": node_id, "outputs": {"output": text}})]
        case "retry":
            error = {"code": "c", "message": text}
            return [("node.retried", {"nodeId": node_id, "attempt": 2, "delayMs": 0, "lastError": error})]
        case "fail":
            return [("node.failed", {"nodeId": node_id, "error": {"code": "c", "message": text}})]
        case "variable":
            return [("variable.changed", {"name": "vw"[number % 2], "next": text, "nodeId": node_id})]
        case "append" | "replace":
            written = {"channel": f"{kind}{number % 2}", "value": text, "reducer": kind, "nodeId": node_id}
            return [("channel.written", written)]
        case "item":
            return [("weftwork.map.item", {"index": number, "output": text})]
        case "answer":
            return [("weftwork.model.answered", {"call": f"{number}/call", "text": text})]
        case "effect":
            place = {"nodeId": node_id, "step": f"s{number}"}
            return [("weftwork.effect.claimed", place), ("weftwork.effect.recorded", {**place, "output": text})]
        case _:
            started = {"childRunId": "r", "workflowId": "w", "key": f"k{number}", "awaited": True}
            ended = {"childRunId": "r", "key": f"k{number}", "status": "completed", "outputs": {"o": text}}
            return [("weftwork.child.started", started), ("weftwork.child.ended", ended)]


def fold_steps(steps: list[tuple[str, str, int, str]]) -> RunState:
    """The state after these steps. A node that has ended starts again, as in a loop."""
    state = RunState(PLAN, header_of(PLAN), {"v": "input"})

    def add(kind: str, payload: dict[str, Any], node_id: str | None = None) -> None:
        apply(state, Fact(state.last_sequence + 1, kind, payload, 5, node_id, size=len(encode_stored(payload))))

    add("run.started", {"inputs": {"v": "input"}})
    for kind, node_id, number, text in steps:
        here = state.nodes.get(node_id)
        if here is not None and here.status in ("completed", "failed"):
            continue
        if here is None or here.status != "running":
            add("node.started", {"attempt": 1}, node_id)
        for event_type, payload in payloads_of(kind, node_id, number, text):
            add(event_type, payload, node_id)
    return state


@pytest.mark.rule("size-06")
@for_all(150, st.lists(STEPS, max_size=60))
def test_the_count_is_never_too_small_and_hardly_too_large(steps: list[tuple[str, str, int, str]]) -> None:
    state = fold_steps(steps)
    counted, exact = state.live_bytes, measured(state)
    events = state.last_sequence + 1
    assert exact <= counted
    # Replaced writes of a channel are counted until the count has doubled.
    assert counted <= exact + events * OVERHEAD + 2 * live_size.CHANNEL_SLACK


@pytest.mark.rule("size-06")
@pytest.mark.parametrize("name", ["release", "release_all"])
def test_without_releases_the_count_is_too_large(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    steps = [("answer", "a", n % 4, "z" * 100_000) for n in range(4)]
    steps += [("retry", "a", 0, "")] if name == "release" else [("complete", "a", 0, "done")]
    assert fold_steps(steps).live_bytes < 10_000
    for module in ("facts", "traversal", "live_size"):
        monkeypatch.setattr(f"weftwork.protocol.fold.{module}.{name}", lambda *_: 0, raising=False)
    assert fold_steps(steps).live_bytes > 300_000


@pytest.mark.rule("size-06")
def test_a_variable_that_is_overwritten_counts_about_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [("variable", "a", 0, "z" * 300_000) for _ in range(40)]
    assert fold_steps(steps).live_bytes < 2 * variable_views.PRUNE_BYTES
    monkeypatch.setattr(variable_views.VariableView, "needs_pruning", lambda *_: False)
    assert fold_steps(steps).live_bytes > 40 * 300_000


@pytest.mark.rule("size-06")
def test_a_channel_that_replaces_its_value_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [("replace", "a", 0, "z" * 300_000) for _ in range(40)]
    assert fold_steps(steps).live_bytes < 4 * 300_000
    monkeypatch.setattr(live_size, "CHANNEL_SLACK", 10**9)
    assert fold_steps(steps).live_bytes > 40 * 300_000


@pytest.mark.rule("size-06")
def test_every_type_whose_payload_the_state_holds_is_listed() -> None:
    grown: set[str] = set()
    assert HELD_TYPES <= FOLDED_TYPES
    for kind in sorted(FOLDED_TYPES - HELD_TYPES):
        state = fold_steps([("variable", "a", 0, "x")])
        before = state.live_bytes
        payload = {
            "nodeId": "b",
            "outputs": {},
            "attempt": 1,
            "error": {"code": "c", "message": "m"},
            "interruptId": "i",
            "kind": "schema",
            "limit": 1,
            "observed": 2,
            "iterations": 1,
            "drainPolicy": "immediate",
            "key": "k",
            "childRunId": "r",
            "workflowId": "w",
            "awaited": False,
            "status": "running",
            "step": "s",
            "number": 1,
            "changeId": "c",
            "version": 1,
            "artifactId": "a",
            "artifactType": "t",
            "phase": "x",
            "isLast": True,
            "conversationId": "c",
            "provider": "p",
            "code": "c",
            "retryAt": "2026-01-31T08:05:09.042Z",
        }
        if kind in ("node.suspended", "node.resumed", "weftwork.interrupt.reminder", "weftwork.provider.retried"):
            continue
        apply(state, Fact(state.last_sequence + 1, kind, payload, 5, "b", size=10**6))
        if state.live_bytes - before >= 10**6:
            grown.add(kind)
    assert grown == set()
