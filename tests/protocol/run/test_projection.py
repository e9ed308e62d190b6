"""Documents about runs: snapshots, summaries, parents and children, and cancelling many."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import for_all, header_of, node, plan_of, workflow
from weftwork.protocol.errors import ERRORS, ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.limits import Limits
from weftwork.protocol.run import projection
from weftwork.protocol.run.child_runs import ancestry, host_id, tree_entry
from weftwork.protocol.run.header import STATUSES, TERMINAL_STATUSES, Parent, Status
from weftwork.protocol.run.projection import (
    MAX_BULK_CANCEL,
    MAX_CHILDREN,
    Projection,
    StateRow,
    StoredRun,
    bulk_cancel_entry,
    check_bulk_cancel,
    has_children,
    run_snapshot,
    run_summary,
)
from weftwork.protocol.timestamps import iso
from weftwork.protocol.wire.capabilities import HostOffer, discovery_document

PLAN = plan_of(workflow([node("a")]))
VALUES = st.dictionaries(st.text("ab", min_size=1, max_size=2), st.integers() | st.text(max_size=3), max_size=3)


def plain(document: dict[str, Any]) -> dict[str, Any]:
    return json.loads(msgspec.json.encode(document))


@st.composite
def stored_runs(draw: st.DrawFn) -> StoredRun:
    status: Status = draw(st.sampled_from(STATUSES))
    started = draw(st.none() | st.integers(0, 10**12))
    error = encode_stored({"code": "x", "message": "y", "details": draw(VALUES)}) if status == "failed" else None
    projection = Projection(
        status=status,
        last_sequence=draw(st.integers(-1, 9)),
        started_at=started,
        completed_at=(started or 0) + 1 if status in TERMINAL_STATUSES else None,
        current_node=draw(st.none() | st.just("a")),
        error=error,
    )
    rows = [StateRow("variable", name, encode_stored(value)) for name, value in draw(VALUES).items()]
    rows += [StateRow("node", "a", encode_stored({"status": "running", "attempt": 1}))]
    rows += [StateRow("channel", "c", b"[1]")] * draw(st.integers(0, 1))
    header = header_of(
        PLAN,
        inputs=draw(VALUES),
        configurable=draw(VALUES),
        metadata=draw(VALUES),
        tags=tuple(draw(st.lists(st.text("ab", min_size=1), max_size=3))),
    )
    return StoredRun(header, projection, tuple(rows))


@pytest.mark.rule("run-06")
@for_all(150, stored_runs())
def test_a_snapshot_fits_its_schema_and_echoes_what_was_given(run: StoredRun) -> None:
    document = plain(run_snapshot(run))
    assert schema.check("run-snapshot", document) == []
    header = run.header
    assert (document["tags"], document["metadata"]) == (list(header.tags), header.metadata)
    assert (document["configurable"], document["inputs"]) == (header.configurable, header.inputs)
    assert document["owner"] == {"tenant": "acme", "principal": "key_1"}
    assert document["variables"] == {
        row.name: json.loads(row.value)
        for row in sorted(run.rows, key=lambda row: row.kind)
        if row.kind in ("channel", "variable")
    }
    assert document["nodeStates"] == {"a": {"status": "running", "attempt": 1}}
    assert document.get("channels") == ({"c": [1]} if any(row.kind == "channel" for row in run.rows) else None)
    assert (document["engineVersion"], document["eventLogSchemaVersion"]) == ("1", 2)


@pytest.mark.rule("run-05")
@for_all(150, stored_runs())
def test_a_summary_leaves_out_what_the_run_does_not_have(run: StoredRun) -> None:
    document = plain(run_summary(run))
    assert schema.check("run-list", {"runs": [document]}) == []
    assert None not in document.values()
    projection = run.projection
    optional = {
        "startedAt": None if projection.started_at is None else iso(projection.started_at),
        "completedAt": None if projection.completed_at is None else iso(projection.completed_at),
        "currentNodeId": projection.current_node,
        "error": None if projection.error is None else json.loads(projection.error),
    }
    assert document == {
        "runId": "run-1",
        "workflowId": "sample",
        "status": projection.status,
        "createdAt": iso(run.header.created_at),
        "tags": list(run.header.tags),
    } | {name: value for name, value in optional.items() if value is not None}
    assert plain(run_snapshot(run)).items() >= document.items()


PARENT = Parent("run-0", "call", "0", "core.subWorkflow", "run-0")


def stored(run_id: str = "run-1", status: Status = "running", *rows: StateRow, **more: Any) -> StoredRun:
    ended = 2_000 if status in TERMINAL_STATUSES else None
    return StoredRun(header_of(PLAN, run_id=run_id, **more), Projection(status, 3, 1_000, ended), rows)


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
@each_case("status", *STATUSES)
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


def refusal(document: Any) -> ClientFault:
    with pytest.raises(ClientFault) as caught:
        check_bulk_cancel(document)
    assert caught.value.code == "validation_error"
    return caught.value


@pytest.mark.rule("run-09")
def test_the_bound_is_the_same_wherever_it_is_said() -> None:
    assert schema.document("bulk-cancel")["properties"]["runIds"]["maxItems"] == MAX_BULK_CANCEL
    assert discovery_document(HostOffer("0", Limits()))["runs"]["bulkCancel"] == {
        "supported": True,
        "maxRunIds": MAX_BULK_CANCEL,
    }
    check_bulk_cancel({"runIds": ["r"] * MAX_BULK_CANCEL})


@pytest.mark.rule("run-09")
@pytest.mark.parametrize("count", [MAX_BULK_CANCEL + 1, 50_000])
def test_a_list_that_is_too_long_is_told_how_long_it_may_be(count: int) -> None:
    for extra in ({}, {"nonsense": 1}):
        found = refusal({"runIds": ["r"] * count, **extra})
        assert found.details == {"pointer": "/runIds", "maxRunIds": MAX_BULK_CANCEL}


@pytest.mark.rule("run-09")
@each_case(
    "document",
    {},
    [],
    "x",
    None,
    {"runIds": []},
    {"runIds": "r"},
    {"runIds": [1]},
    {"runIds": [""]},
    {"runIds": ["r"], "x": 1},
)
def test_another_body_is_refused_without_the_bound(document: Any) -> None:
    assert "maxRunIds" not in (refusal(document).details or {})


@pytest.mark.rule("run-09")
def test_without_the_check_nobody_is_told_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage: the schema alone refuses the list, and says less."""
    monkeypatch.setattr(projection, "MAX_BULK_CANCEL", 10**9)
    assert "maxRunIds" not in (refusal({"runIds": ["r"] * 101}).details or {})


@pytest.mark.rule("run-10")
def test_an_entry_says_what_became_of_a_run() -> None:
    for status in STATUSES:
        entry = bulk_cancel_entry("r", status)
        if status in ("cancelling", "cancelled"):
            assert entry == {"runId": "r", "ok": True, "status": status}
        else:
            assert (entry["ok"], entry["error"]["code"]) == (False, "run_terminal")
    entries = [
        bulk_cancel_entry("r", "cancelled"),
        bulk_cancel_entry("r", None),
        bulk_cancel_entry("a b", None, "validation_error"),
    ]
    assert [entry.get("error", {}).get("code") for entry in entries] == [None, "not_found", "validation_error"]
    assert schema.check("bulk-cancel-response", {"results": entries}) == []
    assert {entry["error"]["code"] for entry in entries[1:]} <= set(ERRORS)
