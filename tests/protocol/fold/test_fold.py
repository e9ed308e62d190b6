"""The fold over logs written by hand: statuses, variables, data flow, and what it leaves alone."""

from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import edge, for_all, header_of, node, plan_of, variable, workflow
from weftwork.protocol.errors import RUN_ERRORS
from weftwork.protocol.fold.data_flow import MissingInput, resolve_inputs
from weftwork.protocol.fold.fold import BREACH_CODES, FOLDED_TYPES, apply, fold, initial_variables
from weftwork.protocol.fold.state import NodeState, RunState, RunStop
from weftwork.protocol.fold.variable_views import initial_view
from weftwork.protocol.run import header
from weftwork.protocol.run.events import CATALOGUE, Fact
from weftwork.protocol.run.header import STATUSES, TERMINAL_STATUSES, TRANSITIONS, Status, next_status

PLAN = plan_of(
    workflow(
        [node("a", "core.identity"), node("b")],
        [edge("a", "b")],
        [variable("x", defaultValue="d"), variable("y", defaultValue="d"), variable("z")],
    )
)
TYPES = [*sorted(CATALOGUE), "weftwork.run.cancel-requested", "acme.thing"]


def picture(state: RunState) -> dict[str, Any]:
    return {name: repr(getattr(state, name)) for name in RunState.__struct_fields__ if name not in ("plan", "header")}


@pytest.mark.rule("run-01")
@pytest.mark.parametrize("status", sorted(TERMINAL_STATUSES))
def test_a_terminal_status_has_no_way_out(status: Status) -> None:
    assert not [key for key in TRANSITIONS if key[0] in TERMINAL_STATUSES]
    assert {next_status(status, kind) for kind in TYPES} == {status}


@pytest.mark.rule("run-01")
def test_the_table_is_closed_and_every_live_status_can_end() -> None:
    assert {status for status, _ in TRANSITIONS} | set(TRANSITIONS.values()) <= set(STATUSES)
    for status in {status for status, _ in TRANSITIONS}:
        assert TRANSITIONS.get((status, "run.cancelled")) == "cancelled"
        assert TRANSITIONS.get((status, "run.failed")) == "failed"
    assert set(STATUSES) == set(header.Status.__args__)


@pytest.mark.rule("run-01")
@for_all(100, st.lists(st.sampled_from(TYPES), max_size=12))
def test_a_status_changes_only_as_the_table_says(kinds: list[str]) -> None:
    status: Status = "pending"
    for kind in kinds:
        after = next_status(status, kind)
        assert after == status or TRANSITIONS[status, kind] == after
        assert status not in TERMINAL_STATUSES or after == status
        status = after


HANDLED = set(FOLDED_TYPES)


@pytest.mark.rule("fold-01")
@each_case("kind", *([kind for kind in TYPES if kind not in HANDLED] + ["node.unheard-of", "run.novel"]))
def test_a_type_that_means_nothing_to_us_changes_nothing(kind: str) -> None:
    facts = [Fact(0, "run.started", {}, 5), Fact(1, "node.started", {"attempt": 1}, 6, "a")]
    state = fold(PLAN, header_of(PLAN), {"z": 1}, facts)
    before = picture(state)
    apply(state, Fact(2, kind, {"error": 1, "outputs": 2, "name": "x"}, 9, "a"))
    assert picture(state) == {**before, "last_sequence": "2"}


def test_an_event_of_an_unknown_node_changes_nothing() -> None:
    state = fold(PLAN, header_of(PLAN), {}, [Fact(0, "run.started", {}, 5)])
    before = picture(state)
    apply(state, Fact(1, "node.completed", {"outputs": {}}, 9, "gone"))
    apply(state, Fact(2, "node.completed", {"outputs": {}}, 9, None))
    assert picture(state) == {**before, "last_sequence": "2"}


@pytest.mark.rule("data-01")
def test_variables_start_as_defaults_overlaid_by_inputs() -> None:
    assert initial_variables(PLAN, {}) == {"x": "d", "y": "d"}
    assert initial_variables(PLAN, {"y": None, "z": 1, "other": 2}) == {"x": "d", "y": None, "z": 1, "other": 2}
    state = fold(PLAN, header_of(PLAN), {"x": "i"}, [])
    assert state.variables == {}
    apply(state, Fact(0, "run.started", {}, 5))
    assert state.variables == {"x": "i", "y": "d"}
    assert state.changed_rows == {("variable", "x"), ("variable", "y")}
    apply(state, Fact(1, "variable.changed", {"name": "x", "next": 3}, 6))
    assert state.variables["x"] == 3


@pytest.mark.rule("fold-01")
def test_a_log_folds_step_by_step() -> None:
    state = fold(PLAN, header_of(PLAN), {}, [Fact(0, "run.started", {}, 5)])
    assert (state.status, state.started_at, state.ready, state.current_node) == ("running", 5, [(0, "a")], None)
    apply(state, Fact(1, "node.started", {"attempt": 2}, 6, "a"))
    assert (state.ready, state.current_node, state.executions) == ([], "a", 1)
    given = initial_view({"x": "d", "y": "d"})
    assert state.nodes["a"] == NodeState(
        "running", attempt=2, entry_sequence=1, started_at=6, first_started_at=6, view=given
    )
    apply(state, Fact(2, "node.completed", {"outputs": {"o": 1}}, 7, "a"))
    assert (state.running, state.ready, state.nodes["a"].outputs) == ({}, [(1, "b")], {"o": 1})
    apply(state, Fact(3, "node.failed", {"error": {"code": "c", "message": "m"}}, 8, "b"))
    assert (state.ready, state.failures) == ([], [(1, "b")])
    apply(state, Fact(4, "run.failed", {"error": {"code": "c", "message": "m"}}, 9))
    assert (state.status, state.completed_at, state.error) == ("failed", 9, {"code": "c", "message": "m"})
    assert state.is_terminal


@pytest.mark.rule("lim-01")
@each_case(
    "kind, code",
    ("node-executions", "recursion_limit_exceeded"),
    ("run-duration", "run_timeout"),
    ("unheard-of", "cap_breached"),
)
def test_each_kind_of_breach_fails_the_run_with_its_code(kind: str, code: str) -> None:
    payload = {"kind": kind, "limit": 3, "observed": 4}
    state = fold(PLAN, header_of(PLAN), {}, [Fact(0, "run.started", {}, 5), Fact(1, "cap.breached", payload, 6)])
    assert state.stop is not None
    assert state.stop.error is not None
    assert (state.stop.error["code"], state.stop.error["details"]) == (code, payload)
    assert all(known in RUN_ERRORS for known, _ in BREACH_CODES.values())


def test_a_request_to_cancel_stops_the_run() -> None:
    facts = [Fact(0, "run.started", {}, 5), Fact(1, "weftwork.run.cancel-requested", {"reason": "why"}, 6)]
    state = fold(PLAN, header_of(PLAN), {}, facts)
    assert (state.status, state.stop) == ("cancelling", RunStop(None, "why"))


STATIC = {"input": {"type": "static", "value": None}}
VARIABLE = {"p": {"type": "variable", "variableName": "v"}}
UNSET = {"p": {"type": "variable", "variableName": "gone"}}
CONNECTED = {"p": {"type": "connection", "nodeId": "a", "outputKey": "output"}}


@pytest.mark.rule("data-03")
@each_case(
    "ports, outputs, expected",
    ({}, {}, {}),
    ({}, {"output": 1}, {"input": 1}),
    ({}, {"output": 1, "other": 2}, {"input": 2}),
    (STATIC, {"output": 1}, {"input": None}),
    (VARIABLE, {"output": 1}, {"p": "var", "input": 1}),
    (CONNECTED, {"output": None}, {"p": None, "input": None}),
    (CONNECTED, {}, MissingInput("p", "a.output")),
    (CONNECTED, None, MissingInput("p", "a.output")),
    (UNSET, {}, MissingInput("p", "gone")),
    ({"p": {**UNSET["p"], "optional": True}}, {}, {}),
    ({"p": {**CONNECTED["p"], "optional": True}}, {}, {}),
    ({"input": {**UNSET["p"], "optional": True}}, {"output": 1}, {}),
)
def test_a_port_has_its_own_value_and_an_edge_fills_what_is_left(ports: Any, outputs: Any, expected: Any) -> None:
    edges = [edge("a", "b", id="e2"), edge("a", "b", id="e1", sourceOutput="other")]
    plan = plan_of(workflow([node("a"), node("b", inputs=ports)], edges, [variable("v", defaultValue="var")]))
    state = fold(plan, header_of(plan), {}, [Fact(0, "run.started", {}, 5)])
    if outputs is not None:
        apply(state, Fact(1, "node.completed", {"outputs": outputs}, 6, "a"))
    assert resolve_inputs(state, "b") == expected
