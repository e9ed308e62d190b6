"""decide as tables: every kind of input in every state, the bounds, and that nothing is changed on the way."""

from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.harness.definitions import edge, header_of, node, plan_of, variable, workflow
from weftwork.engine.decide import inputs
from weftwork.engine.decide import transitions as module
from weftwork.engine.decide.decision import NOTHING, Decision, RunBounds
from weftwork.engine.decide.transitions import decide, run_outputs
from weftwork.protocol.fold.fold import apply, fold
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json import schema
from weftwork.protocol.run.events import Fact
from weftwork.protocol.workflow.plan import Plan

PLAN = plan_of(workflow([node("a"), node("b"), node("c", disabled=True)], [edge("a", "b"), edge("a", "c")]))
WIDE = RunBounds(parallel=64, executions=100, provided=frozenset())
CANCEL = ("weftwork.run.cancel-requested", None, {"reason": "why"})
BREACH = ("cap.breached", None, {"kind": "run-duration", "limit": 5, "observed": 6})
STARTED = ("run.started", None, {})
ERROR = {"code": "boom", "message": "It broke."}


def a_log(*entries: tuple[str, str | None, dict[str, Any]]) -> list[Fact]:
    return [Fact(place, kind, payload, 100 + place, node_id) for place, (kind, node_id, payload) in enumerate(entries)]


def on(kind: str, node_id: str, **payload: Any) -> tuple[str, str | None, dict[str, Any]]:
    return (f"node.{kind}", node_id, {"outputs": {}, "error": ERROR, **payload})


STATES: dict[str, list[Fact]] = {
    "pending": [],
    "ready": a_log(STARTED),
    "running": a_log(STARTED, on("started", "a")),
    "doomed": a_log(STARTED, on("started", "a"), on("completed", "a")),
    "done": a_log(STARTED, *(on(kind, n) for n in "ab" for kind in ("started", "completed")), on("skipped", "c")),
    "cancelling": a_log(STARTED, on("started", "a"), CANCEL),
    "cancelling, all stopped": a_log(STARTED, on("started", "a"), CANCEL, on("cancelled", "a")),
    "breached": a_log(STARTED, on("started", "a"), BREACH),
    "breached, all stopped": a_log(STARTED, on("started", "a"), BREACH, on("cancelled", "a")),
    "completed": a_log(STARTED, ("run.completed", None, {})),
    "failed": a_log(STARTED, ("run.failed", None, {"error": ERROR})),
    "cancelled": a_log(("run.cancelled", None, {})),
}
INPUTS: dict[str, inputs.Input] = {
    "step": inputs.Step(),
    "ended": inputs.NodeCompleted("a", {"o": 1}),
    "failed": inputs.NodeFailed("a", "boom", "It broke."),
    "stopped": inputs.NodeStopped("a"),
    "late": inputs.NodeCompleted("b", {}),
    "cancel": inputs.CancelRequested("why"),
    "time": inputs.RunTimedOut(5, 5),
    "broke": inputs.HostFailed(),
}
ASKED = "weftwork.run.cancel-requested"
BREACHED = "run.started,cap.breached"
TABLE = {
    "pending":                 ("run.started", "", "", "", "", "run.cancelled", BREACHED, "run.failed"),
    "ready":                   ("node.started>a", "", "", "", "", "run.cancelled", "cap.breached", "run.failed"),
    "running":                 ("", "node.completed", "node.failed", "", "", ASKED, "cap.breached", "run.failed"),
    "doomed":                  ("node.skipped", "", "", "", "", "run.cancelled", "cap.breached", "run.failed"),
    "done":                    ("run.completed", "", "", "", "", "run.cancelled", "cap.breached", "run.failed"),
    "cancelling":              ("!", "node.completed", "node.failed", "node.cancelled", "", "", "", "run.failed"),
    "cancelling, all stopped": ("run.cancelled", "", "", "", "", "", "", "run.failed"),
    "breached":                ("!", "node.completed", "node.failed", "node.cancelled", "", "", "", "run.failed"),
    "breached, all stopped":   ("run.failed", "", "", "", "", "", "", "run.failed"),
    "completed":               ("", "", "", "", "", "", "", ""),
    "failed":                  ("", "", "", "", "", "", "", ""),
    "cancelled":               ("", "", "", "", "", "", "", ""),
}  # fmt: skip
"""State -> what each of INPUTS decides: event types, `>` a node to start, `!` to stop what runs."""


def state_of(facts: list[Fact], plan: Plan = PLAN, **header: Any) -> RunState:
    return fold(plan, header_of(plan, **header), {"x": 1}, facts)


def written(decision: Decision) -> str:
    kinds = ",".join(draft.type for draft in decision.events)
    return f"{kinds}{'>' + decision.start if decision.start else ''}{'!' if decision.stop else ''}"


def picture(state: RunState) -> str:
    return repr([(name, getattr(state, name)) for name in RunState.__struct_fields__])


@pytest.mark.rule("run-02")
@pytest.mark.parametrize("state", TABLE)
def test_what_each_input_decides_in_each_state(state: str) -> None:
    folded = state_of(STATES[state])
    before = picture(folded)
    assert tuple(written(decide(folded, WIDE, given)) for given in INPUTS.values()) == TABLE[state]
    assert picture(folded) == before


@pytest.mark.rule("run-02")
@pytest.mark.parametrize("state", TABLE)
def test_every_decided_event_fits_its_schema(state: str) -> None:
    folded = state_of(STATES[state])
    for given in INPUTS.values():
        for draft in decide(folded, WIDE, given).events:
            assert schema.check_payload(draft.type, draft.payload) == []
            assert draft.node_id == draft.payload.get("nodeId")


def test_without_the_look_at_the_end_an_ended_run_would_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    state = state_of(STATES["completed"])
    assert decide(state, WIDE, inputs.Step()) == NOTHING
    monkeypatch.setattr(state, "completed_at", None)
    assert decide(state, WIDE, inputs.Step()) != NOTHING


@pytest.mark.rule("run-03")
@each_case("state, status", ("pending", "cancelled"), ("ready", "cancelled"), ("running", "cancelling"))
def test_a_cancelled_run_is_cancelling_only_while_a_node_runs(state: str, status: str) -> None:
    folded = state_of(STATES[state])
    (draft,) = decide(folded, WIDE, inputs.CancelRequested("why")).events
    assert draft.payload == {"reason": "why"}
    apply(folded, Fact(folded.last_sequence + 1, draft.type, draft.payload, 200))
    assert folded.status == status
    assert decide(folded, WIDE, inputs.CancelRequested()) == NOTHING


@pytest.mark.rule("run-03")
def test_the_reason_is_kept_to_the_end() -> None:
    (draft,) = decide(state_of(STATES["cancelling, all stopped"]), WIDE, inputs.Step()).events
    assert draft.payload == {"reason": "why"}
    (draft,) = decide(state_of(STATES["ready"]), WIDE, inputs.CancelRequested()).events
    assert draft.payload == {}


@pytest.mark.rule("lim-02")
@pytest.mark.parametrize(("observed", "shown"), [(0, 6), (5, 6), (6, 6), (9000, 9000)])
def test_a_time_limit_is_breached_once_and_seen_above_it(observed: int, shown: int) -> None:
    folded = state_of(STATES["running"])
    (draft,) = decide(folded, WIDE, inputs.RunTimedOut(5, observed)).events
    assert draft.payload == {"kind": "run-duration", "limit": 5, "observed": shown}
    apply(folded, Fact(2, draft.type, draft.payload, 200))
    assert decide(folded, WIDE, inputs.RunTimedOut(5, observed)) == NOTHING
    (end,) = decide(state_of(STATES["breached, all stopped"]), WIDE, inputs.Step()).events
    assert end.payload["error"]["code"] == "run_timeout"


@pytest.mark.rule("lim-03")
@pytest.mark.parametrize(("limit", "decided"), [(0, "cap.breached"), (1, "node.started>a"), (2, "node.started>a")])
def test_no_more_nodes_start_than_the_limit_allows(limit: int, decided: str) -> None:
    bounds = RunBounds(64, limit, frozenset())
    assert written(decide(state_of(STATES["ready"]), bounds, inputs.Step())) == decided


@pytest.mark.rule("lim-03")
def test_the_node_that_was_too_many_is_named() -> None:
    after = a_log(STARTED, on("started", "a"), on("completed", "a"), on("skipped", "c"))
    (draft,) = decide(state_of(after), RunBounds(64, 1, frozenset()), inputs.Step()).events
    assert draft.payload == {"kind": "node-executions", "limit": 1, "observed": 2, "nodeId": "b"}
    assert draft.node_id == "b"


@pytest.mark.parametrize(("parallel", "decided"), [(1, ""), (2, "node.started>b"), (3, "node.started>b")])
def test_only_so_many_nodes_run_at_once(parallel: int, decided: str) -> None:
    plan = plan_of(workflow([node("a"), node("b")]))
    folded = state_of(a_log(STARTED, on("started", "a")), plan)
    assert written(decide(folded, RunBounds(parallel, 100, frozenset()), inputs.Step())) == decided


@pytest.mark.rule("node-01")
def test_a_node_whose_needs_are_not_met_fails_without_a_start() -> None:
    plan = plan_of(workflow([node("a", "conformance.requiresMissing")]))
    decision = decide(state_of(STATES["ready"], plan), WIDE, inputs.Step())
    (draft,) = decision.events
    assert (draft.type, decision.start) == ("node.failed", None)
    assert draft.payload["error"]["code"] == "capability_not_provided"
    assert draft.payload["error"]["details"] == {"capability": "conformance.never-provided"}


def test_without_the_look_at_needs_the_node_would_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "missing_capabilities", lambda requires, provided: [])
    plan = plan_of(workflow([node("a", "conformance.requiresMissing")]))
    assert written(decide(state_of(STATES["ready"], plan), WIDE, inputs.Step())) == "node.started>a"


@pytest.mark.rule("run-04")
@each_case(
    "rule, b_ends, kind, failed_by",
    ("all_success", "skipped", "run.failed", "a"),
    ("none_failed", "skipped", "run.failed", "a"),
    ("any_success", "skipped", "run.failed", "a"),
    ("any_failed", "completed", "run.completed", None),
    ("all_complete", "completed", "run.completed", None),
    ("any_failed", "failed", "run.failed", "b"),
)
def test_a_run_fails_by_its_first_failure_that_no_edge_handles(
    rule: str, b_ends: str, kind: str, failed_by: str | None
) -> None:
    plan = plan_of(workflow([node("a"), node("b")], [edge("a", "b", rule)]))
    begins = [] if b_ends == "skipped" else [on("started", "b")]
    ends = on(b_ends, "b", error={"code": "b", "message": "m"})
    folded = state_of(a_log(STARTED, on("failed", "a"), *begins, ends), plan)
    (draft,) = decide(folded, WIDE, inputs.Step()).events
    assert (draft.type, draft.payload.get("failedNodeId")) == (kind, failed_by)
    if failed_by is not None:
        assert draft.payload["error"] == folded.nodes[failed_by].error


@pytest.mark.rule("run-04")
def test_a_disabled_node_handles_no_failure() -> None:
    plan = plan_of(workflow([node("a"), node("b", disabled=True)], [edge("a", "b", "any_failed")]))
    folded = state_of(a_log(STARTED, on("failed", "a"), on("skipped", "b")), plan)
    (draft,) = decide(folded, WIDE, inputs.Step()).events
    assert (draft.type, draft.payload.get("failedNodeId")) == ("run.failed", "a")


@pytest.mark.rule("run-04")
def test_the_first_failure_is_the_first_in_order_and_not_in_time() -> None:
    plan = plan_of(workflow([node("a"), node("b")]))
    late = a_log(STARTED, on("failed", "b"), on("failed", "a", error={"code": "a", "message": "m"}))
    (draft,) = decide(state_of(late, plan), WIDE, inputs.Step()).events
    assert draft.payload == {"error": {"code": "a", "message": "m"}, "failedNodeId": "a"}


@pytest.mark.rule("data-02")
@each_case(
    "primary, expected",
    ("", {"b": {"n": "b"}, "c": {"n": "c"}}),
    ("a", {"a": {"n": "a"}}),
    ("ab", {"a": {"n": "a"}, "b": {"n": "b"}}),
)
def test_the_outputs_are_those_of_the_primary_nodes_or_of_the_sinks(primary: str, expected: dict[str, Any]) -> None:
    nodes = [node(n, outputRole="primary" if n in primary else "secondary") for n in "abc"]
    plan = plan_of(workflow(nodes, [edge("a", "b"), edge("a", "c")]))
    folded = state_of(a_log(STARTED, *(on("completed", n, outputs={"n": n}) for n in "abc")), plan)
    assert run_outputs(folded) == expected


@pytest.mark.rule("data-02")
def test_a_node_that_did_not_complete_has_no_outputs() -> None:
    plan = plan_of(workflow([node("a"), node("b", disabled=True), node("c")], [edge("a", "c", "any_failed")]))
    folded = state_of(
        a_log(STARTED, on("skipped", "b"), on("completed", "a", outputs={"n": 1}), on("skipped", "c")), plan
    )
    assert run_outputs(folded) == {}


def test_the_opening_says_who_started_what_with_what() -> None:
    plan = plan_of(workflow([node("a")], None, [variable("x", "number")]))
    (draft,) = decide(state_of([], plan), WIDE, inputs.Step()).events
    owner = {"tenant": "acme", "principal": "key_1"}
    assert draft.payload == {"workflowId": "sample", "inputs": {"x": 1}, "owner": owner}
