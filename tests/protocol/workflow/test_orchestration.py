"""Decisions and joins: what is one, and what statuses of workers come to."""

from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.cases import each_case, present
from tests.harness.definitions import for_all, node, workflow
from weftwork.protocol.workflow import orchestration
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.protocol.workflow.validation import parse_workflow

GOOD, BAD = "completed", "failed"
ENDED = (GOOD, BAD, "cancelled")


@pytest.mark.rule("orch-01")
@each_case(
    "decision, place",
    ({"kind": "next-worker", "nextWorkerIds": ["a"], "confidence": 0}, None),
    ({"kind": "ask-user", "prompt": "?"}, None),
    ({"kind": "terminate"}, None),
    ({"kind": "terminate", "successCriteria": [{"key": "a", "met": False}]}, None),
    ({"kind": "terminate", "successCriteria": [{"key": "a", "met": 1}]}, ("/successCriteria/0/met", "type")),
    ({"kind": "next-worker", "nextWorkerIds": ["a"], "prompt": "?"}, ("/prompt", "additionalProperties")),
    ({"kind": "next-worker", "nextWorkerIds": ["x" * 257]}, ("/nextWorkerIds/0", "maxLength")),
    ({"kind": "vendor.acme.sleep"}, ("/kind", "enum")),
    ({"nextWorkerIds": ["a"]}, ("", "required")),
    ([], ("", "type")),
)
def test_a_decision_is_one_of_three(decision: Any, place: tuple[str, str] | None) -> None:
    found = [(each.pointer, each.rule) for each in orchestration.check_decision(decision)]
    assert found == ([] if place is None else [place])


@pytest.mark.rule("orch-07")
@each_case(
    "mode, quorum, total, ends, verdict",
    ("wait-all", 1, 2, [(1, GOOD)], None),
    ("wait-all", 1, 2, [(1, BAD)], None),
    ("wait-all", 1, 2, [(1, GOOD), (0, GOOD)], orchestration.JoinOutcome((0, 1))),
    ("wait-all", 1, 3, [(2, BAD), (0, GOOD), (1, "cancelled")], orchestration.JoinOutcome(failed=1)),
    ("quorum", 2, 3, [(1, GOOD)], None),
    ("quorum", 2, 4, [(3, GOOD), (1, BAD), (2, GOOD), (0, GOOD)], orchestration.JoinOutcome((2, 3))),
    ("quorum", 2, 3, [(1, BAD), (0, "cancelled")], orchestration.JoinOutcome(failed=0)),
    ("quorum", 2, 3, [(2, BAD), (1, "cancelled"), (0, BAD)], orchestration.JoinOutcome(failed=1)),
    ("first", 1, 3, [(0, BAD), (2, GOOD), (1, GOOD)], orchestration.JoinOutcome((2,))),
    ("first", 1, 2, [(1, BAD), (0, "cancelled")], orchestration.JoinOutcome(failed=0)),
    ("first", 1, 2, [(0, BAD)], None),
    ("race", 1, 3, [(1, BAD), (0, GOOD)], orchestration.JoinOutcome(failed=1)),
    ("race", 1, 3, [(1, GOOD), (0, BAD)], orchestration.JoinOutcome((1,))),
    ("race", 1, 2, [], None),
)
def test_joins(
    mode: orchestration.JoinMode,
    quorum: int,
    total: int,
    ends: list[tuple[int, str]],
    verdict: orchestration.JoinOutcome | None,
) -> None:
    assert orchestration.join_outcome(mode, quorum, total, ends) == verdict


@pytest.mark.rule("orch-07")
@for_all(150, st.data(), full=6_000)
def test_what_was_decided_stays_so_whatever_ends_later(data: st.DataObject) -> None:
    """And when all have ended, something is decided."""
    total = data.draw(st.integers(1, 6))
    mode = data.draw(st.sampled_from(orchestration.JOIN_MODES))
    quorum = data.draw(st.integers(1, total))
    ends = [(index, data.draw(st.sampled_from(ENDED))) for index in data.draw(st.permutations(range(total)))]
    last = present(orchestration.join_outcome(mode, quorum, total, ends))
    assert (last.failed is None) is bool(last.deciding)
    for count in range(total):
        early = orchestration.join_outcome(mode, quorum, total, ends[:count])
        assert early in (None, last)
        assert mode != "wait-all" or early is None


def deciders(*agents: str | None, **members: Any) -> dict[str, Any]:
    named = [{} if agent is None else {"agent": {"agentId": agent}} for agent in agents]
    nodes = [node(f"n{index}", "lead", **each, **members) for index, each in enumerate(named)]
    return workflow([node("other", "worker", agent={"agentId": "host:third"}), *nodes])


@pytest.mark.rule("orch-13")
def test_a_run_has_one_orchestrator(monkeypatch: pytest.MonkeyPatch) -> None:
    types = {"lead": NodeDeclaration("lead", "", role="supervisor"), "worker": NodeDeclaration("worker", "")}

    def refused(document: dict[str, Any], pinned: bool = False) -> list[tuple[str, str]]:
        return [(each.pointer, each.rule) for each in parse_workflow(document, types, pinned)[1]]

    for agents in ((), (None, None), ("host:one", "host:one"), (None, orchestration.HOST_SUPERVISOR)):
        assert refused(deciders(*agents)) == []
    assert refused(deciders("host:one", "host:two", "host:one", None)) == [
        ("/nodes/2/agent", "const"),
        ("/nodes/4/agent", "const"),
    ]
    several = deciders("host:one", "host:two")
    assert refused(several, pinned=True) == []
    assert refused(deciders("host:one", "host:two", disabled=True)) == []
    monkeypatch.setattr("weftwork.protocol.workflow.validation.check_orchestrators", lambda nodes: [])
    assert refused(several) == []


@pytest.mark.rule("orch-08")
def test_a_worker_has_its_own_mapping_or_that_of_all() -> None:
    config: dict[str, Any] = {"inputMapping": {"a": "b"}, "perWorkerInputMappings": {"x": {}, "y": {"c": "d"}}}
    assert [orchestration.worker_mapping(config, "Input", worker) for worker in "xyz"] == [{}, {"c": "d"}, {"a": "b"}]
    assert orchestration.worker_mapping(config, "Output", "x") == {}
    assert orchestration.map_worker_variables({"mine": "theirs", "other": "unset"}, {"theirs": None, "more": 1}) == {
        "mine": None
    }


@pytest.mark.rule("orch-03")
def test_the_threshold_is_that_of_the_run() -> None:
    given_ones: list[Any] = [{}, {"escalationThreshold": 0}, {"escalationThreshold": 1}, {"escalationThreshold": True}]
    assert [orchestration.escalation_threshold(each) for each in given_ones] == [0.7, 0, 1, 0.7]
