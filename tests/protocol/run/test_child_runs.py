"""What is told of parents and children: documents that fit their schemas, with nothing for those who have neither."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.definitions import header_of, node, plan_of, workflow
from weftwork.protocol.json import schema
from weftwork.protocol.run.child_runs import ancestry, host_id, tree_entry
from weftwork.protocol.run.header import STATUSES, TERMINAL_STATUSES, Parent, Status
from weftwork.protocol.run.projection import (
    MAX_CHILDREN,
    Projection,
    StateRow,
    StoredRun,
    has_children,
    run_snapshot,
    run_summary,
)

PLAN = plan_of(workflow([node("a")]))
PARENT = Parent("run-0", "call", "0", "core.subWorkflow", "run-0")


def stored(run_id: str = "run-1", status: Status = "running", *rows: StateRow, **more: Any) -> StoredRun:
    ended = 2_000 if status in TERMINAL_STATUSES else None
    return StoredRun(header_of(PLAN, run_id=run_id, **more), Projection(status, 3, 1_000, ended), rows)


def plain(document: dict[str, Any]) -> dict[str, Any]:
    return json.loads(msgspec.json.encode(document))


@pytest.mark.rule("kin-09")
@pytest.mark.parametrize(("url", "host"), [("", "weftwork"), ("https://runs.example.com", "https://runs.example.com")])
def test_an_ancestry_names_the_run_above_or_nobody(url: str, host: str) -> None:
    assert host_id(url) == host
    top, child = (ancestry(header_of(PLAN, **more), host) for more in ({}, {"parent": PARENT}))
    assert top == {"runId": "run-1", "hostId": host, "parent": None}
    assert child == {**top, "parent": {"runId": "run-0", "hostId": host, "cause": "core.subWorkflow"}}
    assert schema.check("run-ancestry-response", top) == schema.check("run-ancestry-response", child) == []
    assert schema.check("run-ancestry-response", {**top, "more": 1})
    assert schema.check("run-ancestry-response", {**child, "parent": {**child["parent"], "cause": "a-guess"}})


@pytest.mark.rule("kin-10")
def test_a_child_names_its_parent_and_a_run_without_one_names_none() -> None:
    for tell in (run_summary, run_snapshot):
        child, other = plain(tell(stored(parent=PARENT))), plain(tell(stored()))
        assert (child.pop("parentRunId"), child.pop("parentNodeId")) == ("run-0", "call")
        assert child == other
        assert not {"childRuns", "childRunsTruncated", "agent", "runOrchestrator"} & set(other)


@pytest.mark.rule("kin-10")
@given(st.lists(st.sampled_from(STATUSES), max_size=MAX_CHILDREN + 2))
def test_a_parent_names_its_first_children_in_their_order(statuses: list[Status]) -> None:
    children = [stored(f"child-{at}", status, parent=PARENT) for at, status in enumerate(statuses)]
    document = plain(run_snapshot(stored(), children))
    assert schema.check("run-snapshot", document) == []
    told = document.get("childRuns", [])
    assert [(each["runId"], each["status"]) for each in told] == [
        (f"child-{at}", status) for at, status in enumerate(statuses[:MAX_CHILDREN])
    ]
    assert {(each["workflowId"], each["nodeId"]) for each in told} <= {("sample", "call")}
    assert document.get("childRunsTruncated") == (True if len(statuses) > MAX_CHILDREN else None)
    assert ("childRuns" in document) == bool(statuses)


def test_a_row_says_whether_a_run_has_started_others() -> None:
    assert not has_children(stored("run-1", "running", StateRow("variable", "kin", b"1")))
    assert has_children(stored("run-1", "running", StateRow("kin", "children", b"2")))


def test_a_snapshot_names_agent_and_orchestrator() -> None:
    rows = [StateRow("agent", name, b'{"agentId":"host:%b"}' % name.encode()) for name in ("agent", "runOrchestrator")]
    document = plain(run_snapshot(stored("run-1", "running", *rows, StateRow("kin", "children", b"1"))))
    assert schema.check("run-snapshot", document) == []
    assert (document["agent"], document["runOrchestrator"]) == (
        {"agentId": "host:agent"},
        {"agentId": "host:runOrchestrator"},
    )
    assert "children" not in document["variables"]


@pytest.mark.rule("kin-12")
@pytest.mark.parametrize("status", STATUSES)
def test_a_row_of_a_tree_fits_its_schema(status: Status) -> None:
    rows = [plain(tree_entry(stored(status=status, parent=parent), at)) for at, parent in enumerate((None, PARENT))]
    assert schema.check("run-tree", {"runId": "run-1", "runs": rows, "truncated": False}) == []
    assert [row["depth"] for row in rows] == [0, 1]
    assert {name: rows[1][name] for name in rows[1] if name not in rows[0]} == {
        "parentRunId": "run-0",
        "parentNodeId": "call",
    }
    assert "tags" not in rows[0]
    assert ("completedAt" in rows[0]) == (status in TERMINAL_STATUSES)
